# Test programs. tests/unit/<folder>/test_x.c -> label unit; tests/crash -> crash; tests/compat -> compat.
# tests/sim, tests/system, tests/interop, fuzz, tools/kgen and bench bring a CMakeLists.txt of their own.
enable_testing()
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

# klamm_test(<source> <label> [more sources]): one ctest entry named <label>/<folder>/<name>. Sources of the
# folder that are not tests themselves are helpers of all its tests.
function(klamm_test source label)
    get_filename_component(name ${source} NAME_WE)
    get_filename_component(directory ${source} DIRECTORY)
    get_filename_component(folder ${directory} NAME)
    set(helpers "")
    if(directory MATCHES "/tests/(unit|crash|compat)/")
        file(GLOB helpers CONFIGURE_DEPENDS ${directory}/*.c)
        list(FILTER helpers EXCLUDE REGEX "/test_[^/]*$")
    endif()
    add_executable(${folder}_${name} ${source} ${helpers} ${ARGN})
    target_include_directories(${folder}_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src
        ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(${folder}_${name} PRIVATE ${KLAMM_LIBRARIES} klamm_simenv PkgConfig::cmocka)
    target_compile_definitions(${folder}_${name} PRIVATE
        KLAMM_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KLAMM_BINARY_DIR="${CMAKE_BINARY_DIR}")
    add_test(NAME ${label}/${folder}/${name} COMMAND ${folder}_${name})
    set_tests_properties(${label}/${folder}/${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()

foreach(label unit crash compat)
    file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/${label}/test_*.c)
    foreach(source IN LISTS test_sources)
        klamm_test(${source} ${label})
    endforeach()
endforeach()
foreach(part tests/sim tests/system tests/interop fuzz tools/kgen tools/demo bench)
    if(EXISTS ${CMAKE_SOURCE_DIR}/${part}/CMakeLists.txt)
        add_subdirectory(${part})
    endif()
endforeach()

# The rules of the tree. Layers also looks at the built libraries, so it runs after the build.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME lint/layers COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/layers.py
    --source ${CMAKE_SOURCE_DIR} --build ${CMAKE_BINARY_DIR})
add_test(NAME lint/tools COMMAND ${Python3_EXECUTABLE} -B -m unittest discover
    -s ${CMAKE_SOURCE_DIR}/tests/tools)
add_test(NAME lint/tidy COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/tidy.py
    --source ${CMAKE_SOURCE_DIR})
set_tests_properties(lint/layers lint/tidy lint/tools PROPERTIES LABELS unit)
