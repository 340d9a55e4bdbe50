#!/usr/bin/env bash
# tools/check_neon.sh [JOBS]: builds for 64-bit ARM, in build-neon, and runs the tests under an emulator, at both levels
# of instructions that ARM has: plain C and NEON. Exits with 77 where that is not possible.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-neon
jobs=${1:-$(nproc)}

if [ "$(uname -m)" = aarch64 ]; then
  echo "this is such a processor: make test"
  exit 77
fi
unset CC # another one is in the toolchain file
tools/require_packages.sh neon || exit 77
if ! tools/fetch_arm64.sh $build/arm64; then
  echo "the libraries for 64-bit ARM cannot be fetched here"
  exit 77
fi
tools/configure.sh $build -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DFURROW_TESTS=ON -DFURROW_WERROR=ON
cmake --build $build -j "$jobs" --target furrow_tests
tools/run_tests.sh $build "$jobs"
