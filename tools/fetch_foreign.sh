#!/usr/bin/env bash
# tools/fetch_foreign.sh ARCH FOLDER: Debian's packages of the libraries that Furrow and its tests link, for another
# processor (aarch64, s390x), unpacked into FOLDER. The system's own packages and lists stay as they are; root is not needed.
set -euo pipefail
arch=$1 folder=$2
case $arch in aarch64) debian=arm64 ;; *) debian=$arch ;; esac # as Debian calls it
packages=(zlib1g zlib1g-dev libzstd1 libzstd-dev libxxhash0 libxxhash-dev libcmocka0 libcmocka-dev
  libevent-core-2.1-7 libevent-dev)
[ "$(cat "$folder/list" 2>/dev/null)" != "${packages[*]}" ] || exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || exit 1

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
work=$(realpath "$work")
mkdir -p "$work"/{lists/partial,cache/archives/partial,packages,unpacked}
apt() {
  apt-get -qq -o APT::Architecture=$debian -o APT::Architectures=$debian -o APT::Sandbox::User=root \
    -o Dir::State="$work" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache" "$@"
}
apt update || true # sources that have nothing for that processor are accepted
(cd "$work/packages" && apt download "${packages[@]}")
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/unpacked"; done
echo "${packages[*]}" >"$work/unpacked/list"
rm -rf "$folder"
mv "$work/unpacked" "$folder"
