#!/usr/bin/env bash
# tools/make_deb.sh [FOLDER]: Debian packages of the command and the library, in FOLDER (build-deb/packages). Builds in
# build-deb, where a later run goes on; nothing is written outside. Exits with 77 where debhelper is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath -m "${1:-build-deb/packages}")
if ! command -v dh >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "skipped: debhelper is not installed"
  exit 77
fi
unset CC CFLAGS MAKEFLAGS MFLAGS MAKELEVEL
rm -rf "$packages"
mkdir -p "$packages"
# What debhelper notes while it works lies in debian/: a copy keeps the tree clean.
work=$PWD/build-deb/tree
mkdir -p "$work"
for name in CMakeLists.txt LICENSE README.md cli cmake debian docs examples include src; do
  rm -rf "${work:?}/$name"
  cp -a "$name" "$work/$name"
done
cd "$work"
export DEB_RULES_REQUIRES_ROOT=no FURROW_PACKAGES=$packages DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)}"
if ! debian/rules binary >../log 2>&1; then
  tail -n 40 ../log
  exit 1
fi
ls -1 "$packages"
