# rung_web: the console as a static library of constant data (src/front/api/assets.h), made from web/ by npm and
# tools/embed.py. Without npm, or where npm fails (no network), the library holds a page that says so, and the
# rest of the build goes on.
#
#   RUNG_WEB        OFF leaves the console out
#   RUNG_WEB_DIST   a folder that `npm run build` made elsewhere, for builders without npm
option(RUNG_WEB "Build the console into the program (needs npm)" ON)
set(RUNG_WEB_DIST "" CACHE PATH "The console, already built")
find_program(RUNG_NPM npm)
find_program(RUNG_NODE NAMES node nodejs)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(web "${PROJECT_SOURCE_DIR}/web")
set(work "${PROJECT_BINARY_DIR}/web") # npm never writes into the source tree
set(table "${PROJECT_BINARY_DIR}/web_assets.c")
set(embed "${PROJECT_SOURCE_DIR}/tools/embed.py")

if(RUNG_WEB_DIST)
    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${RUNG_WEB_DIST}/*")
    add_custom_command(OUTPUT "${table}"
        COMMAND "${Python3_EXECUTABLE}" "${embed}" "${table}" "${RUNG_WEB_DIST}"
        DEPENDS "${embed}" ${inputs} VERBATIM)
elseif(RUNG_WEB AND RUNG_NPM AND RUNG_NODE AND NOT RUNG_FUZZ)
    file(GLOB_RECURSE inputs CONFIGURE_DEPENDS "${web}/src/*" "${web}/static/*")
    set(packages "${web}/package.json" "${web}/package-lock.json" "${web}/.npmrc")
    add_custom_command(OUTPUT "${work}/node_modules.stamp"
        COMMAND "${CMAKE_COMMAND}" -DNPM=${RUNG_NPM} -DNODE=${RUNG_NODE} -DWEB=${web} -DWORK=${work}
            -P "${CMAKE_CURRENT_LIST_DIR}/RungWebPackages.cmake"
        DEPENDS ${packages} "${CMAKE_CURRENT_LIST_DIR}/RungWebPackages.cmake"
        COMMENT "Fetching the console's packages" VERBATIM)
    add_custom_command(OUTPUT "${table}"
        COMMAND "${CMAKE_COMMAND}" -E env "NODE_PATH=${work}/node_modules"
            "${RUNG_NODE}" "${web}/build.js" --packages "${work}/node_modules" --out "${work}/dist"
        COMMAND "${Python3_EXECUTABLE}" "${embed}" "${table}" "${work}/dist"
        DEPENDS "${work}/node_modules.stamp" "${embed}" "${web}/build.js" ${inputs}
        COMMENT "Building the console" VERBATIM)
else()
    if(RUNG_WEB AND NOT RUNG_FUZZ)
        message(STATUS "Console: npm or node not found, it will not be part of the program")
    endif()
    add_custom_command(OUTPUT "${table}"
        COMMAND "${Python3_EXECUTABLE}" "${embed}" "${table}"
        DEPENDS "${embed}" VERBATIM)
endif()

add_library(rung_web STATIC "${table}")
target_include_directories(rung_web PRIVATE "${PROJECT_SOURCE_DIR}/src")
