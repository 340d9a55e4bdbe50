# The target furrow_flags has the compiler options of all targets.
#
# Release is optimised, can be debugged and keeps its assertions. Results are the same on every machine: products and
# sums are not contracted, and no option names the processor of the build machine.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 17)

add_library(furrow_flags INTERFACE)
target_compile_definitions(furrow_flags INTERFACE _GNU_SOURCE)
target_compile_options(furrow_flags INTERFACE
  -fno-math-errno -ffp-contract=off -Wall -Wextra -Wshadow -Wpointer-arith -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
if(FURROW_WERROR)
  target_compile_options(furrow_flags INTERFACE -Werror)
endif()
if(FURROW_SANITIZE)
  target_compile_options(furrow_flags INTERFACE
    -fsanitize=${FURROW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(furrow_flags INTERFACE -fsanitize=${FURROW_SANITIZE})
endif()
