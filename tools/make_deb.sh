#!/usr/bin/env bash
# tools/make_deb.sh [FOLDER]: Debian packages of the command, the service, MPI, the library and the Python package, in FOLDER
# (build-deb/packages). Builds in build-deb, where a later run goes on; nothing is written outside. Exits with 77 where
# what debian/control asks for is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath -m "${1:-build-deb/packages}")
source tools/probes.sh
skip_without() {
  local package=$1
  shift
  "$@" || { echo "skipped: $package is not installed"; exit 77; }
}
skip_without debhelper has_command dh
skip_without dpkg has_command dpkg-deb
skip_without dh-python has_command dh_python3
skip_without python3-dev has_python_headers
skip_without libevent-dev has_library event2/event.h event_core
skip_without libopenmpi-dev has_mpi openmpi
unset CC CFLAGS MAKEFLAGS MFLAGS MAKELEVEL
SOURCE_DATE_EPOCH=$(tools/tree.sh date)
export SOURCE_DATE_EPOCH
umask 022
rm -rf "$packages"
mkdir -p "$packages"
# What debhelper notes while it works lies in debian/: a copy keeps the tree clean.
work=$PWD/build-deb/tree
mkdir -p "$work"
for name in CMakeLists.txt LICENSE README.md SECURITY.md cli cmake debian docs examples include packaging serve src; do
  rm -rf "${work:?}/$name"
  cp -a "$name" "$work/$name"
done
rm -rf "$work/python"
tools/tree.sh files | grep '^python/' | xargs cp -a --parents -t "$work"
cd "$work"
export DEB_RULES_REQUIRES_ROOT=no FURROW_PACKAGES=$packages DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)}"
if ! debian/rules binary >../log 2>&1; then
  tail -n 40 ../log
  exit 1
fi
ls -1 "$packages"
