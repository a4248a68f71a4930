# libklamm for other programs: the client and what it stands on in one shared object that exports the
# functions of include/klamm/klamm.h alone (all else is hidden); install.cmake adds a pkg-config file.
target_compile_definitions(klamm_client PRIVATE KLAMM_VERSION="${PROJECT_VERSION}")
foreach(part client net wire auth record model env metric base)
    if(TARGET klamm_${part})
        set_target_properties(klamm_${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
endforeach()
add_library(klamm_shared SHARED $<TARGET_OBJECTS:klamm_client>)
target_link_libraries(klamm_shared PRIVATE klamm_client)
set_target_properties(klamm_shared PROPERTIES OUTPUT_NAME klamm VERSION ${PROJECT_VERSION}
    SOVERSION 0)

include(GNUInstallDirs)
install(TARGETS klamm_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/klamm/klamm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/klamm)
