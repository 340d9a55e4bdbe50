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
PKG_CONFIG_LIBDIR=$work refused "Furrow's library is not installed" "$python" build_backend.py version
FURROW_LIBRARY=static refused "needs Furrow's source tree" "$python" build_backend.py version
FURROW_LIBRARY=stat refused "static, shared or installed is needed" "$python" build_backend.py version

echo "== pip, against the installed library"
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
lib=$work/prefix/$libdir
export PKG_CONFIG_PATH=$lib/pkgconfig
# In an environment that has pip and nothing else: the build needs no package.
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" uninstall --quiet --yes setuptools >"$work/log" 2>&1 || true # from 3.12 on it has none
"$work/venv/bin/pip" install --no-deps --editable "$work/python" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/venv/bin/pip" uninstall --quiet --yes furrow-ml
refused "No matching distribution found for numpy" "$work/venv/bin/pip" install "$work/python"
# With NumPy of the system, as README says. If $python is itself in an environment, NumPy may be there alone.
"$python" -m venv --clear --system-site-packages "$work/venv"
"$work/venv/bin/python" -c 'import numpy' 2>/dev/null ||
  "$python" -c 'import numpy, pathlib; print(pathlib.Path(numpy.__file__).parent.parent)' \
    >"$(echo "$work"/venv/lib/python3*/site-packages)/numpy.pth"
"$work/venv/bin/pip" install "$work/python" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/venv/bin/pip" show furrow-ml
cd "$work/venv"
module=$(echo "$work"/venv/lib/python3*/site-packages/furrow/_core.abi3.so)
readelf -d "$module" | grep -F libfurrow.so
bash "$root/tests/install/hardening.sh" "$module"
LD_LIBRARY_PATH=$lib "$work/venv/bin/python" -c 'import furrow; print(furrow.__version__)'

echo "== source distribution"
mkdir "$work/tree"
(cd "$root" && tools/tree.sh files | grep -E '^(python|include|src|cmake|tools)/|^(CMakeLists.txt|LICENSE)$' |
  xargs cp -a --parents -t "$work/tree")
"$python" -B "$work/tree/python/build_backend.py" sdist "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
version=$(sed -n 's/^#define FURROW_VERSION "\(.*\)"/\1/p' "$root/include/furrow/version.h")
tar -C "$work" -xzf "$work/furrow_ml-$version.tar.gz"
cd "$work/furrow_ml-$version"
[ "$(PKG_CONFIG_LIBDIR=$work "$python" -B build_backend.py version)" = "$version" ] # of the library that it brings
ls LICENSE src/py_core.h tests/test_package.py
# all that the library is built from
diff <(cd "$root" && tools/tree.sh files | grep -E '^(src|include)/') \
  <(cd library && find src include -type f | LC_ALL=C sort)
"$cmake" -S library -B "$work/library-build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
