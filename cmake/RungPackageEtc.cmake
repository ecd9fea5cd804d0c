# Run by cpack when the files of the packages are in place: /usr/etc becomes /etc.
file(GLOB trees "${CPACK_TEMPORARY_DIRECTORY}" "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(tree IN LISTS trees)
    if(IS_DIRECTORY "${tree}/usr/etc")
        file(RENAME "${tree}/usr/etc" "${tree}/etc")
    endif()
endforeach()
