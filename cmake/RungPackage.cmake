# What a package holds besides the program and the library: man page, completions, unit, configuration; and the packages
# themselves: ./dev package makes rung_*.deb and librung-dev_*.deb in build/package. Install component: server.
if(RUNG_FUZZ OR NOT PROJECT_IS_TOP_LEVEL OR CMAKE_CROSSCOMPILING)
    return()
endif()

# The program writes its own manual and completions.
set(made "${PROJECT_BINARY_DIR}/made")
file(MAKE_DIRECTORY "${made}")
add_custom_command(
    OUTPUT "${made}/rung.1" "${made}/rung.bash" "${made}/_rung" "${made}/rung.fish"
    COMMAND rung help --man > "${made}/rung.1"
    COMMAND rung completion bash > "${made}/rung.bash"
    COMMAND rung completion zsh > "${made}/_rung"
    COMMAND rung completion fish > "${made}/rung.fish"
    DEPENDS rung VERBATIM)
add_custom_target(rung_manual ALL DEPENDS "${made}/rung.1")

install(FILES "${made}/rung.1" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
install(FILES "${made}/rung.bash" RENAME rung
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT server)
install(FILES "${made}/_rung" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT server)
install(FILES "${made}/rung.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT server)
set(deploy "${PROJECT_SOURCE_DIR}/deploy")
install(FILES "${deploy}/rung.service" DESTINATION lib/systemd/system COMPONENT server)
install(FILES "${deploy}/rung.sysusers" RENAME rung.conf DESTINATION lib/sysusers.d COMPONENT server)
install(FILES "${deploy}/grafana-dashboard.json" "${deploy}/prometheus.yml" "${deploy}/alerts.yml"
    "${deploy}/slo.yml" "${deploy}/alerts-replicated.yml" "${deploy}/alerts-feed.yml"
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/monitoring COMPONENT server)
foreach(part server:rung library:librung-dev) # component and package
    string(REPLACE ":" ";" part ${part})
    list(POP_FRONT part component)
    set(doc ${CMAKE_INSTALL_DATADIR}/doc/${part})
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright DESTINATION ${doc} COMPONENT ${component})
    install(FILES "${deploy}/debian/changelog" DESTINATION ${doc} COMPONENT ${component})
endforeach()
# /etc where the prefix is /usr, as in a package; elsewhere beside the rest.
install(FILES "${deploy}/rung.conf" DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/rung COMPONENT server)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rung)
set(CPACK_PACKAGE_VENDOR "Rung")
set(CPACK_PACKAGE_CONTACT "The Rung authors <rung@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL server library)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME rung)
set(CPACK_DEBIAN_SERVER_DESCRIPTION "exact leaderboard server
 Keeps every ranking in memory and every event in a durable log; answers who is on top,
 where a player stands and who is just above, for every player, over HTTP and the Redis protocol.")
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "tzdata")
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
    "${deploy}/debian/postinst;${deploy}/debian/prerm;${deploy}/debian/postrm;${deploy}/debian/conffiles")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME librung-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "exact leaderboards as a library
 The headers and libraries to embed Rung in a program.")
# What pkg-config names for rung: libcrypto, libzstd.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libc6-dev, libssl-dev, libzstd-dev")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${deploy}/debian/triggers")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/RungPackageFiles.cmake")
include(CPack)
