# Toolchain file: builds for another processor and runs the tests under its emulator. tools/check.sh cross uses it.
#
#   FURROW_CROSS            the processor: aarch64, s390x
#   FURROW_CROSS_LIBRARIES  the folder where tools/fetch.sh libraries has put the libraries

set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FURROW_CROSS FURROW_CROSS_LIBRARIES)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${FURROW_CROSS})
set(CMAKE_LIBRARY_ARCHITECTURE ${FURROW_CROSS}-linux-gnu)
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)

# The C library came with the compiler.
set(CMAKE_FIND_ROOT_PATH ${FURROW_CROSS_LIBRARIES} /usr/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(furrow_emulator NAMES qemu-${FURROW_CROSS} qemu-${FURROW_CROSS}-static)
set(CMAKE_CROSSCOMPILING_EMULATOR ${furrow_emulator} -L /usr/${CMAKE_LIBRARY_ARCHITECTURE})
