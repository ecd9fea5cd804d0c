# rung_options: the flags of every target of ours. Private to us: an embedding project sees none of them.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the rooms also become librung.so
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

add_library(rung_options INTERFACE)

# Add each flag the compiler knows.
function(rung_try_flags)
    foreach(flag IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER "RUNG_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            target_compile_options(rung_options INTERFACE ${flag})
        endif()
    endforeach()
endfunction()

target_compile_options(rung_options INTERFACE
    -Wall -Wextra -Wshadow -Wundef -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wwrite-strings -Wdouble-promotion -Wvla -Wformat=2
    $<IF:$<C_COMPILER_ID:GNU>,-Wimplicit-fallthrough=5,-Wimplicit-fallthrough>
    $<$<BOOL:${RUNG_WERROR}>:-Werror>
    -fno-common)
# Position independent code must not cost us inlining: nobody interposes our functions.
rung_try_flags(-fno-semantic-interposition)

if(RUNG_TEST_BUILD)
    target_compile_definitions(rung_options INTERFACE RUNG_TEST_BUILD=1)
endif()

if(RUNG_SANITIZE)
    target_compile_options(rung_options INTERFACE
        -fsanitize=${RUNG_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(rung_options INTERFACE -fsanitize=${RUNG_SANITIZE})
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # instrumented code misleads gcc's flow analysis
        target_compile_options(rung_options INTERFACE
            -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    endif()
endif()

if(RUNG_COVERAGE)
    target_compile_options(rung_options INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(rung_options INTERFACE --coverage)
endif()

if(RUNG_HARDEN)
    target_compile_options(rung_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    rung_try_flags(-fstack-protector-strong -fstack-clash-protection)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|i.86|AMD64")
        rung_try_flags(-fcf-protection=full)
    endif()
    target_link_options(rung_options INTERFACE
        -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed)
endif()
