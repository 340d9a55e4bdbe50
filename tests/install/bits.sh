#!/usr/bin/env bash
# tests/install/bits.sh CMAKE CC: where addresses have 32 bits, CMake refuses to configure, and the library does not compile.
# Skipped where the compiler does not know such a processor.
set -uo pipefail
cmake=$1 cc=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sentence='Furrow is for processors with 64-bit addresses'
echo 'int main(void) { return 0; }' | "$cc" -m32 -x c -c -o "$work/main.o" - 2>/dev/null ||
  { echo "skipped: $cc has no -m32"; exit 77; }

# A library in place of a program: the C library for 32 bits may not be installed.
if env -u CFLAGS "$cmake" -S "$root" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS=-m32 \
  -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY >"$work/said" 2>&1; then
  echo "CMake configured for 32 bits"
  exit 1
fi
grep -F "$sentence" "$work/said" || { cat "$work/said"; exit 1; }

if "$cc" -m32 -fsyntax-only -I"$root/src" -I"$root/include" "$root/src/base/status.c" 2>"$work/said"; then
  echo "the library compiles for 32 bits"
  exit 1
fi
grep -iE 'static.?assert' "$work/said" | grep -F "$sentence" || { cat "$work/said"; exit 1; }
