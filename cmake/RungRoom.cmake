# rung_room(NAME ladder [EXCEPT folder ...] [DEPS base ...] [LIBS Threads::Threads ...])
#
# The static library rung_<NAME> from src/<NAME>/**.c. DEPS are the rooms it may include: the only place where
# that is said, held against the direction of docs/ARCHITECTURE.md by tools/tidy.py. LIBS are foreign targets.
# With RUNG_TIDY every header is compiled alone. A file called main.c is left out: it belongs to a program (rung_program).
# A room whose first source is still to be written is passed over. A room inside a room (NAME front/http) is the
# library rung_front_http: others name it front_http in DEPS, and its unit tests live in tests/unit/front_http. EXCEPT are
# the folders of a room that are rooms themselves.
function(rung_room)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "EXCEPT;DEPS;LIBS")
    set(dir "${PROJECT_SOURCE_DIR}/src/${arg_NAME}")
    string(REPLACE "/" "_" target "rung_${arg_NAME}")

    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${dir}/*.c")
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${dir}/*.h")
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    foreach(folder IN LISTS arg_EXCEPT)
        list(FILTER sources EXCLUDE REGEX "^${dir}/${folder}/")
        list(FILTER headers EXCLUDE REGEX "^${dir}/${folder}/")
    endforeach()

    if(sources)
        set(public PUBLIC)
        add_library(${target} STATIC ${sources})
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:rung_options>)
    elseif(headers)
        set(public INTERFACE)
        add_library(${target} INTERFACE)
    else()
        message(STATUS "Room ${arg_NAME}: no sources yet")
        return()
    endif()

    target_sources(${target} ${public}
        FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${headers})
    foreach(room IN LISTS arg_DEPS)
        if(TARGET rung_${room})
            target_link_libraries(${target} ${public} rung_${room})
        endif()
    endforeach()
    target_link_libraries(${target} ${public} ${arg_LIBS})
    set_property(GLOBAL APPEND PROPERTY RUNG_ROOMS ${target})

    if(headers)
        rung_verify_headers(${target})
    endif()
endfunction()

# Make the header check of `target` part of the default build.
function(rung_verify_headers target)
    if(PROJECT_IS_TOP_LEVEL AND RUNG_TIDY)
        if(NOT TARGET rung_headers)
            add_custom_target(rung_headers ALL)
        endif()
        add_dependencies(rung_headers ${target}_verify_interface_header_sets)
    endif()
endfunction()

# rung_program(NAME rung SOURCES main.c ROOMS app ...): an executable in the root of the build tree, installed.
function(rung_program)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;ROOMS;LIBS")
    if(RUNG_FUZZ)
        return() # the rooms are instrumented for libFuzzer's own main there
    endif()
    add_executable(${arg_NAME} ${arg_SOURCES})
    set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    list(TRANSFORM arg_ROOMS PREPEND rung_)
    target_link_libraries(${arg_NAME} PRIVATE rung_options ${arg_ROOMS} ${arg_LIBS})
    target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    install(TARGETS ${arg_NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
endfunction()
