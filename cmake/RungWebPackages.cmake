# cmake -DNPM=... -DWEB=... -DWORK=... -P RungWebPackages.cmake: the packages of WEB's lock file into WORK/node_modules.
# A failure (no network) is a warning: web/build.js then makes nothing, and the program says so on its front page. The
# stamp is left out then, so that the next build tries again.
file(MAKE_DIRECTORY "${WORK}")
foreach(name package.json package-lock.json .npmrc)
    configure_file("${WEB}/${name}" "${WORK}/${name}" COPYONLY)
endforeach()
execute_process(
    COMMAND "${NPM}" ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
        --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE errors)
if(status EQUAL 0)
    file(TOUCH "${WORK}/node_modules.stamp")
else()
    file(REMOVE_RECURSE "${WORK}/node_modules" "${WORK}/node_modules.stamp")
    message(WARNING "The console's packages cannot be had; the program is built without it:\n${errors}")
endif()
