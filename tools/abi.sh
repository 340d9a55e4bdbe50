#!/usr/bin/env bash
# tools/abi.sh record|check [LIBRARY]: the binary interface of the shared library (build/libfurrow.so) and the record of
# it, abi/libfurrow.so.N.abi, where N is the number of its soname.
#
#   check             fails if a program that was linked with the recorded library would break with this one, and if the
#                     record lacks what has been added since
#   record            writes the record; refuses to if programs would break, unless the soname is a new one
#   record --replace   writes it all the same: for a soname that no release has had yet
#
# Only what include/furrow declares counts. Records are for one compiler and processor (gcc 12, x86-64), as others describe the
# same types differently; elsewhere the check is skipped (77).
set -euo pipefail
cd "$(dirname "$0")/.."
usage='usage: abi.sh record [--replace] | check [LIBRARY]'
action=${1:?$usage}
shift
replace=false
if [ "${1:-}" = --replace ]; then
  replace=true
  shift
fi
library=${1:-build/libfurrow.so}
case $action in record | check) ;; *) echo "$usage" >&2 && exit 2 ;; esac

# The interface cannot be read here: a check is skipped, a record fails.
unable() {
  if [ "$action" = check ]; then
    echo "skipped: $1"
    exit 77
  fi
  echo "abi: $1" >&2
  exit 1
}
for program in abidw abidiff readelf; do
  command -v $program >/dev/null 2>&1 || unable "$program is not installed (abigail-tools, binutils)"
done
[ -e "$library" ] || { echo "abi: $library does not exist; make builds it" >&2 && exit 1; }
facts=$(LC_ALL=C readelf -hSdW "$library")
grep -q 'Machine:.*X86-64' <<<"$facts" || unable "the record is for x86-64"
compilers=$(LC_ALL=C readelf -p .comment "$library" | sed -n 's/^ *\[.*\]  *//p')
grep -q '^GCC: .* 12\.' <<<"$compilers" && ! grep -qi clang <<<"$compilers" || unable "the record is for gcc 12"
grep -q '\.debug_info' <<<"$facts" || unable "$library has no debug information (-g)"
soname=$(sed -n 's/.*soname: \[\(.*\)\].*/\1/p' <<<"$facts")
record=abi/$soname.abi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without folders and lines of the machine that built it, without the libraries that it needs. Whether the compiler had an
# inline definition of a function in sight is left out, too: callers cannot notice, and it changes with the optimisation.
abidw --headers-dir include/furrow --drop-private-types --no-comp-dir-path --no-corpus-path --no-show-locs --no-elf-needed \
  --exported-interfaces-only --out-file "$work/now.abi" "$library"
sed -i "s|\( path='\)\(\.\./\)*|\1|; s| declared-inline='yes'||" "$work/now.abi"

# Differences in $1; 4 and more is a difference, less is a failure of abidiff.
differences() {
  local text=$1 status=0
  shift
  abidiff --no-show-locs --no-unreferenced-symbols "$@" "$record" "$work/now.abi" >"$text" 2>&1 || status=$?
  if [ $status != 0 ] && [ $((status & 3)) != 0 ]; then
    cat "$text" >&2
    exit 1
  fi
  [ $status = 0 ]
}

# Structs that begin with their own size may grow at their end: the library reads no further than the caller's size.
growing() {
  awk -F"'" '
    /<class-decl / { name = $2; first = 1 }
    /<data-member / { at = $4 }
    /<var-decl / && first {
      if ($2 == "size" && at == "0")
        printf "[suppress_type]\nname = %s\ntype_kind = struct\nhas_data_member_inserted_at = end\n", name
      first = 0
    }' "$record"
}

# Name and value of every enumerator; abidiff forgives a value that changes when another enumerator comes or goes.
enumerators() {
  sed -n "s/.*<enumerator name='\([^']*\)' value='\([^']*\)'.*/  \1 = \2/p" "$1" | LC_ALL=C sort -u
}

breaks=false
added=false
if [ -e "$record" ]; then
  growing >"$work/growing"
  differences "$work/breaks" --no-added-syms --suppressions "$work/growing" || breaks=true
  enumerators "$record" >"$work/enumerators"
  enumerators "$work/now.abi" | LC_ALL=C comm -23 "$work/enumerators" - >"$work/gone"
  if [ -s "$work/gone" ]; then
    breaks=true
    { echo "Enumerators that are no longer there with their value:" && cat "$work/gone"; } >>"$work/breaks"
  fi
  differences "$work/added" --harmless --redundant || added=true
fi

if [ "$action" = check ]; then
  if [ ! -e "$record" ]; then
    echo "abi: $soname has no record yet; record it: tools/abi.sh record" >&2
    exit 1
  elif $breaks; then
    cat "$work/breaks" >&2
    echo "abi: programs that were linked with $soname would break; undo that, or raise SOVERSION in CMakeLists.txt" >&2
    exit 1
  elif $added; then
    cat "$work/added" >&2
    echo "abi: no program breaks, but $record is not up to date; record it: tools/abi.sh record" >&2
    exit 1
  fi
  echo "abi: $soname is what $record says"
  exit 0
fi

if $breaks && ! $replace; then
  cat "$work/breaks" >&2
  echo "abi: not recorded: programs that were linked with $soname would break; raise SOVERSION in CMakeLists.txt, or" \
    "(before its first release) tools/abi.sh record --replace" >&2
  exit 1
fi
mkdir -p abi
find abi -name '*.abi' ! -name "$soname.abi" -delete
cp "$work/now.abi" "$record"
echo "abi: $soname recorded in $record"
