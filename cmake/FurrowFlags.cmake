# The target furrow_flags has the compiler options of all targets.
#
# Release is optimised, can be debugged and keeps its assertions; Sanitize takes half its time to compile. Results are the
# same on every machine: products and sums are not contracted, and no option names the processor of the build machine.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, Sanitize or Coverage" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
set(CMAKE_C_FLAGS_COVERAGE "-O2 -g")
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1")
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 17)

add_library(furrow_flags INTERFACE)
target_compile_definitions(furrow_flags INTERFACE _GNU_SOURCE)
target_compile_options(furrow_flags INTERFACE
  -fno-math-errno -ffp-contract=off -Wall -Wextra -Wformat-security -Wshadow -Wpointer-arith -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wno-override-init>)  # FURROW_INIT
if(FURROW_WERROR)
  target_compile_options(furrow_flags INTERFACE -Werror)
endif()

# Long loops over rows: vectors alone, without a copy of the loop for every condition in it.
set(furrow_vectorized $<$<CONFIG:Release>:-O3>)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
  set(furrow_vectorized $<$<CONFIG:Release>:-ftree-vectorize> $<$<CONFIG:Release>:-fvect-cost-model=dynamic>)
endif()

# The same sources give the same bytes wherever they lie: no file has a path of the build machine. Coverage keeps
# the paths (-ffile-prefix-map would not).
target_compile_options(furrow_flags INTERFACE
  -fdebug-prefix-map=${PROJECT_SOURCE_DIR}=. -fdebug-prefix-map=${PROJECT_BINARY_DIR}=./build
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}=. -fmacro-prefix-map=${PROJECT_BINARY_DIR}=./build)
set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_APPEND "<CMAKE_AR> qD <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")

# Hardening, for whatever the compiler's default is; tests/install/hardening.sh reads the programs. Sanitizers check more.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT FURROW_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  target_compile_options(furrow_flags INTERFACE
    -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64)$")
    target_compile_options(furrow_flags INTERFACE -fcf-protection=full)
  endif()
  target_link_options(furrow_flags INTERFACE LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

if(FURROW_SANITIZE)
  target_compile_options(furrow_flags INTERFACE
    -fsanitize=${FURROW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(furrow_flags INTERFACE -fsanitize=${FURROW_SANITIZE})
endif()

# Of the library only: counts of lines and branches, for tools/coverage.py. Branches are counted in the source: nothing is
# optimised, functions stay functions, and assertions, whose other side nobody reaches, are left out. Threads count into the
# same cells.
add_library(furrow_counts INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL Coverage)
  target_compile_options(furrow_counts INTERFACE -O0 --coverage -fprofile-update=atomic -fprofile-abs-path)
  target_compile_definitions(furrow_counts INTERFACE NDEBUG always_inline=unused)
  target_link_options(furrow_flags INTERFACE --coverage)
endif()
