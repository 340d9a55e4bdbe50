#!/usr/bin/env bash
# tests/install/python.sh CMAKE BUILD LIBDIR: the Python package against the installed library, by pip and without a network;
# the messages of builds that cannot work; the source distribution. Skipped where a Python that can build it is missing.
set -euo pipefail
cmake=$1 build=$2 libdir=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not installed"; exit 77; }
python=$("$root/tools/python.sh" find) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
unset PIP_FIND_LINKS FURROW_BUILD FURROW_LIBRARY PYTHONPATH

# refused TEXT COMMAND …: the command fails and says the text
refused() {
  local text=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    echo "not refused: $*"
    exit 1
  fi
  grep -F "$text" "$work/log" || { cat "$work/log"; exit 1; }
}

echo "== a copy of the package, without the tree"
(cd "$root" && tools/tree.sh files | grep '^python/' | xargs cp -L --parents -t "$work")
cd "$work/python"
PKG_CONFIG_LIBDIR=$work refused "Furrow's library is not installed" "$python" setup.py --version
FURROW_LIBRARY=static refused "needs Furrow's source tree" "$python" setup.py --version
FURROW_LIBRARY=stat refused "static, shared or installed is needed" "$python" setup.py --version

echo "== pip, against the installed library"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
lib=$work/prefix/$libdir
export PKG_CONFIG_PATH=$lib/pkgconfig
"$python" -m venv --system-site-packages "$work/venv"
for isolation in '' --no-build-isolation; do
  "$work/venv/bin/pip" install --no-deps --force-reinstall $isolation "$work/python" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
done
cd "$work/venv"
module=$(echo "$work"/venv/lib/python3*/site-packages/furrow/_core.abi3.so)
readelf -d "$module" | grep -F libfurrow.so
bash "$root/tests/install/hardening.sh" "$module"
LD_LIBRARY_PATH=$lib "$work/venv/bin/python" -c 'import furrow; print(furrow.__version__)'

echo "== source distribution"
mkdir "$work/tree"
(cd "$root" && tools/tree.sh files | grep -E '^(python|include|src|cmake|tools)/|^(CMakeLists.txt|LICENSE)$' |
  xargs cp -a --parents -t "$work/tree")
(cd "$work/tree/python" && "$python" -W ignore setup.py --quiet sdist --dist-dir "$work") >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
version=$(sed -n 's/^#define FURROW_VERSION "\(.*\)"/\1/p' "$root/include/furrow/version.h")
tar -C "$work" -xzf "$work/furrow-$version.tar.gz"
cd "$work/furrow-$version"
[ "$(PKG_CONFIG_LIBDIR=$work "$python" -W ignore setup.py --version)" = "$version" ] # of the library that it brings
ls LICENSE src/py_core.h tests/test_package.py
# all that the library is built from
diff <(cd "$root" && tools/tree.sh files | grep -E '^(src|include)/') \
  <(cd library && find src include -type f | LC_ALL=C sort)
"$cmake" -S library -B "$work/library-build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
