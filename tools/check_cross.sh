#!/usr/bin/env bash
# tools/check_cross.sh ARCH [JOBS [sample]]: builds for another processor and runs the tests under an emulator, or a sample of
# them (tests/CMakeLists.txt has the list). Exits with 77 where that is not possible.
#
#   aarch64   64-bit ARM, in build-neon, at both levels of instructions that it has: plain C and NEON
#   s390x     big-endian, in build-s390x: every file must have the bytes that it has elsewhere
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$1
jobs=${2:-$(nproc)}
case $arch in
  aarch64) build=build-neon ;;
  s390x) build=build-s390x ;;
  *)
    echo "usage: check_cross.sh aarch64|s390x [JOBS [sample]]" >&2
    exit 2
    ;;
esac

if [ "$(uname -m)" = "$arch" ]; then
  echo "this is such a processor: make test"
  exit 77
fi
unset CC # another one is in the toolchain file
tools/require_packages.sh "$arch" || exit 77
if ! tools/fetch_foreign.sh "$arch" $build/libraries; then
  echo "the libraries for $arch cannot be fetched here"
  exit 77
fi
tools/configure.sh $build -DCMAKE_TOOLCHAIN_FILE=cmake/cross.cmake -DFURROW_CROSS="$arch" \
  -DFURROW_CROSS_LIBRARIES="$PWD/$build/libraries" -DFURROW_TESTS=ON -DFURROW_WERROR=ON
if [ "${3:-}" = sample ]; then
  cmake --build $build -j "$jobs" --target furrow_sample
  tools/run_tests.sh $build "$jobs" -L sample
else
  cmake --build $build -j "$jobs" --target furrow_tests
  tools/run_tests.sh $build "$jobs"
fi
