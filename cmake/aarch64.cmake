# Toolchain file: builds for 64-bit ARM on another machine and runs the tests under an emulator. tools/check_neon.sh uses
# it and fetches the libraries.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-gcc)

# The C library came with the compiler; the others are where tools/fetch_arm64.sh puts them.
get_filename_component(furrow_arm64 ${CMAKE_CURRENT_LIST_DIR}/../build-neon/arm64 ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${furrow_arm64} /usr/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(furrow_emulator NAMES qemu-aarch64 qemu-aarch64-static)
set(CMAKE_CROSSCOMPILING_EMULATOR ${furrow_emulator} -L /usr/${CMAKE_LIBRARY_ARCHITECTURE})
