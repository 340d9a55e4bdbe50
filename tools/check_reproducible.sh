#!/usr/bin/env bash
# tools/check_reproducible.sh [BUILD]: two builds have the same bytes, whatever the folder, time, user, umask, locale, time
# zone and number of processes. With BUILD: its libraries and programs, and those of one more build of the tree. Without:
# two more builds, and their Debian packages and wheels as well, where these can be made here.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
unset CC CFLAGS CPPFLAGS LDFLAGS SOURCE_DATE_EPOCH MAKEFLAGS MFLAGS MAKELEVEL CMAKE_C_COMPILER_LAUNCHER

# copy_tree FOLDER: the files of the project, as new ones
copy_tree() {
  mkdir -p "$1"
  tools/list_files.sh | xargs cp --parents -t "$1"
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
bad=0 same=0
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
  if tools/find_python.sh >/dev/null 2>&1; then
    (cd "$1" && umask "$4" && PYTHONHASHSEED=$3 tools/make_wheel.sh build) >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    cp "$1"/build/python/*.whl "$2/"
  else
    echo "skipped: no Python that can build the package"
  fi
}

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
