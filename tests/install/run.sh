#!/usr/bin/env bash
# tests/install/run.sh CMAKE BUILD CC LIBDIR: installs a build into a folder of its own, then builds and runs programs
# with what lies there: by find_package and by pkg-config, with the shared library and with the archive; also the examples.
set -euo pipefail
cmake=$1 build=$2 cc=$3 libdir=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
lib=$prefix/$libdir

uses_shared() {
  LD_LIBRARY_PATH=$lib ldd "$1" | grep libfurrow >/dev/null
}

try_shared() {
  uses_shared "$1" || { echo "$1 does not use the shared library"; exit 1; }
  LD_LIBRARY_PATH=$lib "$1"
}

try_static() {
  ! uses_shared "$1" || { echo "$1 uses the shared library"; exit 1; }
  "$1"
}

# Serves a model until SIGTERM; the port is one that is free.
try_serve() {
  [ -d "$work/model" ] || make_model
  "$1" serve --model "m=$work/model" --listen 127.0.0.1:0 >"$work/said" 2>&1 &
  local server=$! i
  for i in $(seq 1200); do
    grep -q '^listening on http://127.0.0.1:[0-9]*$' "$work/said" && break
    kill -0 $server 2>/dev/null || break
    sleep 0.1
  done
  kill -TERM $server 2>/dev/null || true
  wait $server || { cat "$work/said"; exit 1; }
  grep '^listening on ' "$work/said" | sed "s,:[0-9]*$,:PORT,"
}

make_model() {
  for i in $(seq 200); do echo "$((i % 2)) $((1 + i % 2)):1 $((3 + i % 3)):1"; done >"$work/rows.libsvm"
  "$prefix/bin/furrow" train --model lr --train "$work/rows.libsvm" --out "$work/model" -q
}

echo "== install"
"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
ls "$prefix/include/furrow/furrow.h" "$lib/libfurrow.a" "$lib/libfurrow.so" "$lib/pkgconfig/furrow.pc"
"$prefix/bin/furrow" --version
ls "$prefix/share/man/man1/furrow.1" "$prefix/share/man/man1/furrow-rows-dump.1" \
  "$prefix/share/bash-completion/completions/furrow" "$prefix/share/zsh/site-functions/_furrow" \
  "$prefix/share/fish/vendor_completions.d/furrow.fish"

echo "== MPI"
if [ -e "$build/libfurrow_mpi.so" ] && command -v mpirun >/dev/null; then
  ls "$lib/furrow/libfurrow_mpi.so"
  env -u FURROW_MPI "$here/../mpi/run_ranks.sh" 3 "$prefix/bin/furrow" --version | tee "$work/said"
  [ "$(wc -l <"$work/said")" = 1 ]
else
  echo "without libfurrow_mpi.so, or without mpirun"
fi

echo "== furrow serve"
if [ -x "$build/furrow-serve" ]; then
  "$prefix/bin/furrow-serve" --help | cmp - <("$prefix/bin/furrow" serve --help)
  # by a path, by PATH, and by a link from another folder: the program that lies beside the command
  ln -s "$prefix/bin/furrow" "$work/linked"
  for command in "$prefix/bin/furrow" furrow "$work/linked"; do
    PATH=$prefix/bin:$PATH try_serve "$command"
  done
  ls "$prefix/share/man/man1/furrow-serve.1"
else
  echo "skipped: furrow-serve is not built"
fi

echo "== find_package"
"$cmake" -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 &&
  "$cmake" --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
try_shared "$work/build/with_shared"
try_static "$work/build/with_static"
try_shared "$work/build/with_mathematics" >/dev/null

echo "== pkg-config"
if ! command -v pkg-config >/dev/null 2>&1; then
  echo "skipped: pkg-config is not installed"
  exit 77
fi
export PKG_CONFIG_PATH=$lib/pkgconfig
"$cc" "$here/consumer.c" $(pkg-config --cflags --libs furrow) -o "$work/shared"
try_shared "$work/shared"
archive_needs=$(pkg-config --static --libs furrow | sed 's/-lfurrow//')
"$cc" "$here/consumer.c" $(pkg-config --cflags furrow) "$lib/libfurrow.a" $archive_needs -o "$work/static"
try_static "$work/static"
[ "$(pkg-config --modversion furrow)" = "$(sed -n 's/^#define FURROW_VERSION "\(.*\)"/\1/p' "$prefix/include/furrow/version.h")" ]

echo "== examples"
cd "$work"
for example in "$here"/../../examples/[0-9]*.c; do
  name=$(basename "$example" .c)
  "$cc" -std=c11 -Wall -Wextra -Werror "$example" $(pkg-config --cflags --libs furrow) -o "$name"
  LD_LIBRARY_PATH=$lib "./$name" >"$name.log" 2>&1 || { cat "$name.log"; echo "$name failed"; exit 1; }
  echo "$name"
done
