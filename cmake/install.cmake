# `cmake --install BUILD --prefix /usr`: what a host needs to run klamm as a service. The prefix counts that
# is given then, so files that name it are written then. A configuration that is there already stays.
include(GNUInstallDirs)
install(TARGETS klamm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "
    file(READ \"${CMAKE_SOURCE_DIR}/conf/klamm.service\" unit)
    string(REPLACE /usr/bin/klamm \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/klamm\" unit \"\${unit}\")
    file(WRITE \"${CMAKE_BINARY_DIR}/klamm.service\" \"\${unit}\")
    set(CMAKE_INSTALL_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(CMAKE_INSTALL_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    set(PROJECT_VERSION \"${PROJECT_VERSION}\")
    configure_file(\"${CMAKE_SOURCE_DIR}/cmake/klamm.pc.in\" \"${CMAKE_BINARY_DIR}/klamm.pc\" @ONLY)
    if(NOT EXISTS \"\$ENV{DESTDIR}/etc/klamm/server.properties\")
        file(INSTALL \"${CMAKE_SOURCE_DIR}/conf/server.properties\" DESTINATION /etc/klamm)
    endif()
")
install(FILES ${CMAKE_BINARY_DIR}/klamm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_BINARY_DIR}/klamm.service DESTINATION lib/systemd/system)
install(FILES conf/klamm.sysusers DESTINATION lib/sysusers.d RENAME klamm.conf)
