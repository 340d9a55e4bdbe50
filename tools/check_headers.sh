#!/usr/bin/env bash
# tools/check_headers.sh [CC [CXX]]: every public header compiles alone, as C11 and as C++17, without a warning, and
# FURROW_INIT has the defaults of every struct of parameters.
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
cd "$tools/.."
source tools/probes.sh
cc=${1:-$(compiler)}
cxx=${2:-${CXX:-c++}}
warnings=(-Wall -Wextra -Wpedantic -Werror -c -o /dev/null -Iinclude)
bad=0
check() { # LANGUAGE STANDARD COMPILER
  for header in include/furrow/*.h; do
    printf '#include "%s"\n' "${header#include/}" | $3 -x "$1" -std="$2" "${warnings[@]}" - || {
      echo "$header does not compile as $2 with $3" >&2
      bad=1
    }
  done
}
check c c11 "$cc"
for type in $(sed -n 's/^static inline void \(furrow_[a-z_]*_params\)_init(.*/\1/p' include/furrow/*.h); do
  grep -q "^#define FURROW_DEFAULTS_$type\>" include/furrow/init.h || {
    echo "include/furrow/init.h lacks FURROW_DEFAULTS_$type" >&2
    bad=1
  }
done
if has_cxx; then
  check c++ c++17 "$cxx"
elif [ $bad = 0 ]; then
  echo "skipped: there is no C++ compiler"
  exit 77
fi
[ $bad = 0 ] && echo "headers: $(ls include/furrow/*.h | wc -l) compile alone as C11 and as C++17"
exit $bad
