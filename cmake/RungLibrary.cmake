# rung_library(ROOMS base model ... [LIBS Threads::Threads] [PC_LIBS -lpthread] [PC_REQUIRES sqlite3])
#
# The embeddable library for include/rung/rung.h: librung.a (one archive holding all the rooms) and librung.so,
# which exports the functions that rung.h declares and nothing else; with install rules and a pkg-config file.
# Call it from include/rung/CMakeLists.txt. Targets: rung_static, rung_shared.
function(rung_library)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "ROOMS;LIBS;PC_LIBS;PC_REQUIRES")
    set(header "${PROJECT_SOURCE_DIR}/include/rung/rung.h")
    if(RUNG_FUZZ OR NOT EXISTS "${header}")
        return()
    endif()

    set(objects "")
    foreach(room IN LISTS arg_ROOMS)
        get_target_property(type rung_${room} TYPE)
        if(NOT type STREQUAL "INTERFACE_LIBRARY")
            list(APPEND objects $<TARGET_OBJECTS:rung_${room}>)
        endif()
    endforeach()

    rung_export_map("${header}" "${CMAKE_CURRENT_BINARY_DIR}/rung.map")
    add_library(rung_static STATIC ${objects})
    add_library(rung_shared SHARED ${objects})
    target_link_options(rung_shared PRIVATE
        "LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/rung.map" LINKER:--no-undefined)
    set_target_properties(rung_shared PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
        LINK_DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/rung.map")
    target_link_libraries(rung_shared PRIVATE $<BUILD_INTERFACE:rung_options> ${arg_LIBS})
    target_link_libraries(rung_static INTERFACE ${arg_LIBS})
    foreach(target rung_static rung_shared)
        set_target_properties(${target} PROPERTIES OUTPUT_NAME rung LINKER_LANGUAGE C)
        target_sources(${target} PUBLIC
            FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES "${header}")
    endforeach()
    rung_verify_headers(rung_static)

    list(JOIN arg_PC_LIBS " " RUNG_PC_LIBS)
    list(JOIN arg_PC_REQUIRES " " RUNG_PC_REQUIRES)
    file(RELATIVE_PATH RUNG_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/") # the installed tree may be moved
    configure_file("${PROJECT_SOURCE_DIR}/cmake/rung.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/rung.pc" @ONLY)
    install(TARGETS rung_static rung_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rung.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# Write a linker version script that exports the rung_*() functions declared in `header`.
function(rung_export_map header out)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
    file(READ "${header}" text)
    string(REPLACE ";" " " text "${text}")
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX MATCHALL "rung_[a-z0-9_]+[ \n]*\\(" found "${text}")
    set(names "")
    foreach(name IN LISTS found)
        string(REGEX REPLACE "[ \n]*\\(" "" name "${name}")
        list(APPEND names "        ${name}$<SEMICOLON>")
    endforeach()
    list(REMOVE_DUPLICATES names)
    list(SORT names)
    list(JOIN names "\n" names)
    file(GENERATE OUTPUT "${out}" CONTENT
        "RUNG_${PROJECT_VERSION_MAJOR} {\n    global:\n${names}\n    local:\n        *$<SEMICOLON>\n}$<SEMICOLON>\n")
endfunction()
