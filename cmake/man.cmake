# The manual pages: installed, and checked by mandoc where there is one.
file(GLOB KLAMM_MAN_PAGES CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${KLAMM_MAN_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
find_program(MANDOC mandoc)
if(MANDOC)
    add_test(NAME lint/man COMMAND ${MANDOC} -Tlint -Wwarning ${KLAMM_MAN_PAGES})
    set_tests_properties(lint/man PROPERTIES LABELS unit TIMEOUT 60)
endif()
