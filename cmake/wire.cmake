# The generated half of klamm_wire: schema/*.schema -> generated/wire/*.h and messages.c.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB wire_schemas CONFIGURE_DEPENDS schema/*.schema)
set(wire_generator ${CMAKE_SOURCE_DIR}/tools/wire_gen.py)
set(wire_command ${Python3_EXECUTABLE} ${wire_generator} --schema ${CMAKE_SOURCE_DIR}/schema
    --out ${CMAKE_BINARY_DIR}/generated/wire)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${wire_schemas} ${wire_generator})
execute_process(COMMAND ${wire_command} --list OUTPUT_VARIABLE wire_outputs
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" ";" wire_outputs "${wire_outputs}")
add_custom_command(OUTPUT ${wire_outputs} COMMAND ${wire_command}
    DEPENDS ${wire_schemas} ${wire_generator} COMMENT "wire structs from schema/" VERBATIM)
set(KLAMM_GENERATED_wire ${wire_outputs})
