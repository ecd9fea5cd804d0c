# cmake -DNPM=... -DNODE=... -DWEB=... -DWORK=... -P RungWebPackages.cmake: the packages of WEB's lock file into WORK/node_modules.
# A failure (no network) is a warning: web/build.js then makes nothing, and the program says so on its front page. The
# stamp is left out then, so that the next build tries again.
file(MAKE_DIRECTORY "${WORK}")
foreach(name package.json package-lock.json .npmrc)
    configure_file("${WEB}/${name}" "${WORK}/${name}" COPYONLY)
endforeach()
# npm leaves out the esbuild program where node is older than 18 (Ubuntu 22.04 has 12), although nothing here runs it in
# node: web/build.js starts it as a program. So an old npm is told that its node is new enough.
execute_process(COMMAND "${NODE}" --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX REPLACE "^v" "" version "${version}")
set(engine "")
if(version VERSION_LESS 18)
    set(engine --node-version=18.0.0)
endif()
execute_process(
    COMMAND "${NPM}" ci ${engine} --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
        --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE errors)
if(status EQUAL 0)
    file(TOUCH "${WORK}/node_modules.stamp")
else()
    file(REMOVE_RECURSE "${WORK}/node_modules" "${WORK}/node_modules.stamp")
    message(WARNING "The console's packages cannot be had; the program is built without it:\n${errors}")
endif()
