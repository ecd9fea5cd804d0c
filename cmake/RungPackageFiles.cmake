# Run by cpack when the files of the packages are in place: brings them into the form that Debian expects.
# The configuration moves from /usr/etc to /etc; man pages and changelogs are compressed; cmake strips programs and shared
# libraries, but not the static one.
file(GLOB trees "${CPACK_TEMPORARY_DIRECTORY}" "${CPACK_TEMPORARY_DIRECTORY}/*")
find_program(strip strip REQUIRED)
find_program(gzip gzip REQUIRED)
foreach(tree IN LISTS trees)
    if(IS_DIRECTORY "${tree}/usr/etc")
        file(RENAME "${tree}/usr/etc" "${tree}/etc")
    endif()
    file(GLOB texts "${tree}/usr/share/man/man1/*.1" "${tree}/usr/share/doc/*/changelog")
    file(GLOB archives "${tree}/usr/lib/*.a" "${tree}/usr/lib/*/*.a")
    if(texts)
        execute_process(COMMAND "${gzip}" -9n ${texts} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    if(archives)
        execute_process(COMMAND "${strip}" --strip-debug --enable-deterministic-archives ${archives} COMMAND_ERROR_IS_FATAL ANY)
    endif()
endforeach()
