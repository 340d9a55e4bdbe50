# tests/interop/setup/python_setup.sh: sourced by the scripts of tests/interop that compare with a Python package, which get FURROW as
# their first word, and set `module` before. Sets furrow, here (the script's folder) and python, and goes to a folder of its
# own, which is removed at the end. Exit code 77: no Python here has the module.
furrow=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/probes.sh"
python=$(python_with "$module") || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
