#!/usr/bin/env bash
# tools/fetch_openapi_validator.sh FOLDER: a Node module that checks OpenAPI documents, from the registry that npm is set
# to, in FOLDER: FOLDER/node_modules/.bin/validate-api DOCUMENT. Exits with 77 where it cannot be fetched; the test that
# uses it is then skipped.
set -euo pipefail
folder=$1
[ ! -x "$folder/node_modules/.bin/validate-api" ] || exit 0
command -v npm >/dev/null || { echo "npm is not installed"; exit 77; }
mkdir -p "$folder"
if ! timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" \
  @seriousme/openapi-schema-validator@2 >"$folder/log" 2>&1; then
  rm -rf "$folder/node_modules"
  echo "the OpenAPI validator cannot be fetched here"
  exit 77
fi
