#!/usr/bin/env bash
# tools/fetch.sh NAME …: files from a registry of packages that tests need. The system's own packages stay as they are, and
# root is not needed.
#
#   libraries ARCH FOLDER   Debian's packages of the libraries that Furrow and its tests link, for another processor
#                           (aarch64, s390x), unpacked into FOLDER
#   openapi FOLDER          Node modules that check OpenAPI documents and generate clients of them, from the registry that
#                           npm is set to: validate-api, redocly and openapi-ts in FOLDER/node_modules/.bin.
#   s3rver FOLDER           a Node module that serves object storage: s3rver in FOLDER/node_modules/.bin
#   duckdb FOLDER           DuckDB's library, for tests of Parquet and SQL, from the same registry: FOLDER/libduckdb.so
#                           The last three exit with 77 where they cannot be fetched; the tests that use them are then skipped
set -euo pipefail

fetch_libraries() {
  local arch=$1 folder=$2 debian=$1 package packages
  case $arch in aarch64) debian=arm64 ;; esac # as Debian calls it
  packages=(zlib1g zlib1g-dev libzstd1 libzstd-dev libxxhash0 libxxhash-dev libcmocka0 libcmocka-dev
    libevent-core-2.1-7 libevent-dev)
  [ "$(cat "$folder/list" 2>/dev/null)" != "${packages[*]}" ] || return 0
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1

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
}

fetch_openapi() {
  local folder=$1
  local command missing=
  for command in validate-api redocly openapi-ts tsc; do
    [ -x "$folder/node_modules/.bin/$command" ] || missing=$command
  done
  [ -n "$missing" ] || return 0
  command -v npm >/dev/null || { echo "npm is not installed"; return 77; }
  mkdir -p "$folder"
  if ! timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" \
    @seriousme/openapi-schema-validator@2 @redocly/cli@2 @hey-api/openapi-ts@0.95 typescript@5 >"$folder/log" 2>&1; then
    rm -rf "$folder/node_modules"
    echo "the modules for OpenAPI documents cannot be fetched here"
    return 77
  fi
}

fetch_s3rver() {
  local folder=$1
  [ ! -x "$folder/node_modules/.bin/s3rver" ] || return 0
  command -v npm >/dev/null || { echo "npm is not installed"; return 77; }
  mkdir -p "$folder"
  if ! timeout 300 npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" s3rver@3 \
    >"$folder/log" 2>&1; then
    echo "s3rver cannot be fetched here"
    return 77
  fi
}

# The package is for programs of Node; only the library in it is used.
fetch_duckdb() {
  local folder=$1 version=1.5.6-r.1 machine
  [ ! -f "$folder/libduckdb.so" ] || return 0
  command -v npm >/dev/null || { echo "npm is not installed"; return 77; }
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *) echo "there is no library of DuckDB for this processor" && return 77 ;;
  esac
  mkdir -p "$folder"
  work=$(mktemp -d "$folder/XXXXXX")
  trap 'rm -rf "$work"' EXIT
  if ! (cd "$work" && timeout 300 npm pack --silent "@duckdb/node-bindings-linux-$machine@$version" >log 2>&1 &&
    tar -xzf ./*.tgz package/libduckdb.so); then
    echo "DuckDB's library cannot be fetched here"
    return 77
  fi
  mv "$work/package/libduckdb.so" "$folder/libduckdb.so"
}

case ${1:-}:$# in
  libraries:3) fetch_libraries "$2" "$3" ;;
  openapi:2) fetch_openapi "$2" ;;
  s3rver:2) fetch_s3rver "$2" ;;
  duckdb:2) fetch_duckdb "$2" ;;
  *) echo "usage: tools/fetch.sh libraries ARCH FOLDER | openapi FOLDER | s3rver FOLDER | duckdb FOLDER" >&2 && exit 2 ;;
esac
