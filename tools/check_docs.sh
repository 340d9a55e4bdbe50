#!/usr/bin/env bash
# tools/check_docs.sh [FOLDER]: makes the documentation of the public headers (FOLDER/html, by default only to look at the
# warnings) and fails, with a list, if a public name has none, if a contract lacks a label that docs/design/headers.md asks
# for, if a comment names a function that does not exist, or if Doxygen complains about anything else.
set -uo pipefail
cd "$(dirname "$0")/.."
for program in doxygen python3; do
  if ! command -v $program >/dev/null 2>&1; then
    echo "skipped: $program is not installed"
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${1:-$work}
mkdir -p "$out"
rm -rf "$out/html" "$out/xml"
version=$(sed -n 's/^#define FURROW_VERSION "\([^"]*\)".*/\1/p' include/furrow/version.h)
{ cat docs/Doxyfile && printf 'PROJECT_NUMBER = %s\nOUTPUT_DIRECTORY = "%s"\n' "$version" "$out"; } |
  doxygen - >/dev/null 2>"$work/warnings"
status=$?
{
  python3 tools/header_docs.py names "$out/xml" | sed 's|^|include/|'
  python3 tools/header_docs.py contracts include/furrow/*.h
} >"$work/complaints"
# A name without documentation also breaks the references to it: other warnings count once every name has some.
[ -s "$work/complaints" ] || sed "s|^$PWD/||" "$work/warnings" >"$work/complaints"
if [ -s "$work/complaints" ]; then
  sort -t: -k1,1 -k2,2n "$work/complaints" >&2
  echo "docs: $(wc -l <"$work/complaints") complaints; docs/design/headers.md says how headers are documented" >&2
  exit 1
fi
if [ $status != 0 ]; then
  echo "docs: doxygen ended with $status" >&2
  exit 1
fi
echo "docs: $(ls include/furrow/*.h | wc -l) headers, every public name is documented"
