# rung_library(ROOMS base model ... [LIBS Threads::Threads] [PC_LIBS -lpthread] [PC_REQUIRES libcrypto])
#
# The embeddable library for include/rung/rung.h: librung.a (one archive holding all the rooms) and librung.so,
# which exports what include/rung/rung.map lists and nothing else; with a pkg-config file and the headers that
# rung.h reaches. Call it from include/rung/CMakeLists.txt. Targets: rung_static, rung_shared. Install component: library.
function(rung_library)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "ROOMS;LIBS;PC_LIBS;PC_REQUIRES")
    set(header "${PROJECT_SOURCE_DIR}/include/rung/rung.h")
    set(map "${PROJECT_SOURCE_DIR}/include/rung/rung.map")
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

    add_library(rung_static STATIC ${objects})
    add_library(rung_shared SHARED ${objects})
    target_link_options(rung_shared PRIVATE "LINKER:--version-script=${map}" LINKER:--no-undefined)
    set_target_properties(rung_shared PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS "${map}")
    target_link_libraries(rung_shared PRIVATE $<BUILD_INTERFACE:rung_options> ${arg_LIBS})
    target_link_libraries(rung_static INTERFACE ${arg_LIBS})
    foreach(target rung_static rung_shared)
        set_target_properties(${target} PROPERTIES OUTPUT_NAME rung LINKER_LANGUAGE C)
        target_sources(${target} PUBLIC
            FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES "${header}")
        target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src") # for the headers that rung.h includes
    endforeach()
    rung_verify_headers(rung_static)

    list(JOIN arg_PC_LIBS " " RUNG_PC_LIBS)
    list(JOIN arg_PC_REQUIRES " " RUNG_PC_REQUIRES)
    file(RELATIVE_PATH RUNG_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/") # the installed tree may be moved
    configure_file("${PROJECT_SOURCE_DIR}/cmake/rung.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/rung.pc" @ONLY)
    install(TARGETS rung_static rung_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rung.pc"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
    install(CODE "
        set(RUNG_SOURCE \"${PROJECT_SOURCE_DIR}\")
        set(RUNG_INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
        include(\"${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake\")" COMPONENT library)
endfunction()
