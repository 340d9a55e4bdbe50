#!/usr/bin/env bash
# tools/check.sh NAME …: a check of the tree. Exits with 77 where it is skipped because a program is missing.
#
#   layers          modules include each other as src/README.md says (tools/layers.sh)
#   words           no source names a folder of one machine or has a mark for unfinished work, and no file has wording that
#                   tools/words.txt advises against; --count: how often each pattern is found; --message FILE: the same for
#                   the message of a commit ("-": standard input)
#   lines           no line of README.md and docs/*.md is longer than 160 characters, code and what programs write left out
#   format          every source is as clang-format leaves it. `make format` puts it right
#   headers [CC [CXX]]   every public header compiles alone, as C11 and as C++17, without a warning
#   docs [FOLDER]   every public name is documented as docs/design/headers.md asks for, and Doxygen has no complaint;
#                   FOLDER/html keeps the documentation
#   powers          the table of powers is what its program makes, and the program proves that it is enough
#   reproducible [BUILD]   two builds have the same bytes, whatever the folder, time, user, umask, locale, time zone and number
#                   of processes. With BUILD: its libraries and programs, and the same files of one more build. Without:
#                   two more builds, and their Debian packages and wheels as well, where these can be made here
#   cross ARCH [JOBS [sample]]   builds for another processor and runs the tests under an emulator, or a sample of them
#                   (tests/CMakeLists.txt has the list). aarch64: 64-bit ARM, in build-neon, at both levels of instructions
#                   that it has. s390x: big-endian, in build-s390x: every file must have the bytes that it has elsewhere
set -euo pipefail
cd "$(dirname "$0")/.."

# need PROGRAM …: skips the check if one of them is missing
need() {
  local program
  for program in "$@"; do
    if ! command -v "$program" >/dev/null 2>&1; then
      echo "skipped: $program is not installed"
      exit 77
    fi
  done
}

check_layers() {
  tools/layers.sh
}

check_words() {
  local paths='(^|[^a-zA-Z0-9_.])/(wor[k]|hom[e]|roo[t]|User[s])/' marks='\b(TOD[O]|FIXM[E]|XX[X])\b' files
  if [ "${1:-}" = --message ]; then
    python3 tools/find_words.py --message "${2:--}"
    return
  fi
  if tools/tree.sh files | grep -E '^(src|include|cli|python)/' | xargs -r grep -nE "$paths|$marks"; then
    echo "these lines hold a path of one machine or an open end" >&2
    exit 1
  fi
  need python3
  # Not what other programs wrote, nor what Furrow printed: its messages are in the sources.
  mapfile -t files < <(tools/tree.sh files |
    grep -E '\.(c|h|cc|inc|md|sh|py|pyi|toml|txt|cmake)$|(^|/)(Makefile|README)$' |
    grep -vE '^tests/(.*/)?(cases|corpus|crashes|golden|reject)/|^tools/(words\.txt|find_words\.py)$|^debian/')
  if ! python3 tools/find_words.py "$@" "${files[@]}"; then
    echo "words: tools/words.txt says what to write instead" >&2
    exit 1
  fi
  [ "${1:-}" = --count ] || echo "words: clean"
}

check_lines() {
  local page found=0
  for page in README.md docs/*.md; do
    sed '/^```/,/^```/s/.*//; /^<!-- \(keys\|figures\)/,/^<!--.* end/s/.*//' "$page" |
      LC_ALL=C.UTF-8 grep -nE '^.{161}' | sed "s|^\([0-9]*\):.*|$page:\1: more than 160 characters|" >&2 && found=1
  done
  [ $found = 0 ] && echo "lines: clean"
}

check_format() {
  local found
  need clang-format
  found=$(tools/tree.sh files | grep -E '\.(c|h|cc)$' | xargs -P "$(nproc)" -n 40 clang-format --dry-run 2>&1 |
    sed -n 's/^\([^ :]*\):[0-9:]* warning:.*/\1: clang-format would change it/p' | LC_ALL=C sort -u)
  if [ -n "$found" ]; then
    echo "$found" >&2
    exit 1
  fi
  echo "format: clean"
}

check_headers() {
  local cc cxx type bad=0
  source tools/probes.sh
  cc=${1:-$(compiler)} cxx=${2:-${CXX:-c++}}
  compile_each() { # LANGUAGE STANDARD COMPILER
    local header
    for header in include/furrow/*.h; do
      printf '#include "%s"\n' "${header#include/}" |
        $3 -x "$1" -std="$2" -Wall -Wextra -Wpedantic -Werror -c -o /dev/null -Iinclude - || {
        echo "$header does not compile as $2 with $3" >&2
        bad=1
      }
    done
  }
  compile_each c c11 "$cc"
  for type in $(sed -n 's/^static inline void \(furrow_[a-z_]*_params\)_init(.*/\1/p' include/furrow/*.h); do
    grep -q "^#define FURROW_DEFAULTS_$type\>" include/furrow/init.h || {
      echo "include/furrow/init.h lacks FURROW_DEFAULTS_$type" >&2
      bad=1
    }
  done
  if has_cxx; then
    compile_each c++ c++17 "$cxx"
  elif [ $bad = 0 ]; then
    echo "skipped: there is no C++ compiler"
    exit 77
  fi
  [ $bad = 0 ] && echo "headers: $(ls include/furrow/*.h | wc -l) compile alone as C11 and as C++17"
}

check_docs() {
  local out version status=0
  need doxygen python3
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  out=${1:-$work}
  mkdir -p "$out"
  rm -rf "$out/html" "$out/xml"
  version=$(sed -n 's/^#define FURROW_VERSION "\([^"]*\)".*/\1/p' include/furrow/version.h)
  { cat docs/Doxyfile && printf 'PROJECT_NUMBER = %s\nOUTPUT_DIRECTORY = "%s"\n' "$version" "$out"; } |
    doxygen - >/dev/null 2>"$work/warnings" || status=$?
  {
    python3 tools/header_docs.py names "$out/xml" | sed 's|^|include/|' || true
    python3 tools/header_docs.py contracts include/furrow/*.h || true
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
}

check_powers() {
  need python3
  python3 tools/make_powers.py prove && python3 tools/make_powers.py table | cmp - src/base/powers_table.inc
}

# ---- The same bytes from another folder ----

# copy_tree FOLDER: the files of the project, as new ones
copy_tree() {
  mkdir -p "$1"
  tools/tree.sh files | xargs cp --parents -t "$1"
}

# build_one FOLDER JOBS: the libraries and programs, in FOLDER/build
build_one() {
  cd "$1"
  cmake -S . -B build >configure.log 2>&1 || { cat configure.log; return 1; }
  cmake --build build -j "$2" --target all >build.log 2>&1 || { grep -E 'error|Error' build.log; return 1; }
}

# build_otherwise FOLDER: one process, other settings and, where that is possible, another user
build_otherwise() {
  local as=()
  if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chown -R nobody "$1"
    as=(setpriv --reuid=nobody --regid=65534 --clear-groups)
  fi
  HOME=$1 LC_ALL=C LANGUAGE=tr TZ=Pacific/Kiritimati "${as[@]}" bash -c \
    "set -euo pipefail; umask 077; $(declare -f build_one); build_one \"\$1\" ${2:-1}" build "$1"
}

# compare ONE OTHER NAME …: files of two folders
compare() {
  local one=$1 other=$2 name
  shift 2
  for name in "$@"; do
    if cmp "$one/$name" "$other/$name"; then
      same=$((same + 1))
    else
      bad=$((bad + 1))
    fi
  done
}

# built BUILD: its libraries and programs
built() {
  (cd "$1" && ls libfurrow.a libfurrow.so.*.*.* furrow furrow-serve libfurrow_mpi*.so 2>/dev/null)
}

# add_packages TREE FOLDER PYTHONHASHSEED UMASK: Debian packages and a wheel of the tree, in FOLDER
add_packages() {
  local code=0
  mkdir "$2"
  (cd "$1" && umask "$4" && PYTHONHASHSEED=$3 tools/make_deb.sh "$2/deb") >"$work/log" 2>&1 || code=$?
  [ $code = 0 ] || [ $code = 77 ] || { cat "$work/log"; exit 1; }
  [ $code = 0 ] || { cat "$work/log"; mkdir -p "$2/deb"; }
  if tools/python.sh find >/dev/null 2>&1; then
    (cd "$1" && umask "$4" && PYTHONHASHSEED=$3 tools/python.sh wheel build) >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    cp "$1"/build/python/*.whl "$2/"
  else
    echo "skipped: no Python that can build the package"
  fi
}

check_reproducible() {
  local one other
  tree=$PWD bad=0 same=0
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  unset CC CFLAGS CPPFLAGS LDFLAGS SOURCE_DATE_EPOCH MAKEFLAGS MFLAGS MAKELEVEL CMAKE_C_COMPILER_LAUNCHER
  copy_tree "$work/other/place/of-another-depth"
  if [ $# -ge 1 ]; then
    one=$(realpath "$1")
    build_otherwise "$work/other/place/of-another-depth" "$(nproc)"
  else
    one=$work/one/build
    copy_tree "$work/one"
    (build_one "$work/one" 2)
    build_otherwise "$work/other/place/of-another-depth"
  fi
  other=$work/other/place/of-another-depth/build
  compare "$one" "$other" $(built "$one")
  if grep -aF -l -e "$tree" -e "$work" "$other"/{libfurrow.a,libfurrow.so,furrow,furrow-serve} 2>/dev/null; then
    echo "these files have paths of this machine"
    bad=$((bad + 1))
  fi

  if [ $# = 0 ]; then
    add_packages "$work/one" "$work/packages-one" 1 022
    add_packages "$work/other/place/of-another-depth" "$work/packages-other" 2 077
    compare "$work/packages-one" "$work/packages-other" $(cd "$work/packages-one" && find . -type f | LC_ALL=C sort)
  fi
  echo "$same files have the same bytes, $bad do not"
  [ $bad = 0 ] && [ $same -gt 0 ]
}

# ---- Other processors ----

check_cross() {
  local arch=${1:-} jobs=${2:-$(nproc)} build target=furrow_tests options=()
  case $arch in
    aarch64) build=build-neon ;;
    s390x) build=build-s390x ;;
    *)
      echo "usage: tools/check.sh cross aarch64|s390x [JOBS [sample]]" >&2
      exit 2
      ;;
  esac
  if [ "$(uname -m)" = "$arch" ]; then
    echo "this is such a processor: make test"
    exit 77
  fi
  unset CC # another one is in the toolchain file
  tools/packages.sh require "$arch" || exit 77
  if ! tools/fetch.sh libraries "$arch" $build/libraries; then
    echo "the libraries for $arch cannot be fetched here"
    exit 77
  fi
  if [ "${3:-}" = sample ]; then target=furrow_sample options=(-L sample); fi
  tools/configure.sh $build -DCMAKE_TOOLCHAIN_FILE=cmake/cross.cmake -DFURROW_CROSS="$arch" \
    -DFURROW_CROSS_LIBRARIES="$PWD/$build/libraries" -DFURROW_TESTS=ON -DFURROW_WERROR=ON
  cmake --build $build -j "$jobs" --target $target
  tools/run_tests.sh $build "$jobs" "${options[@]}"
}

name=${1:-}
case $name in
  layers | words | lines | format | headers | docs | powers | reproducible | cross)
    shift
    "check_$name" "$@"
    ;;
  *)
    echo "usage: tools/check.sh layers|words|lines|format|headers|docs|powers|reproducible|cross …" >&2
    exit 2
    ;;
esac
