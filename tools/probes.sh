# tools/probes.sh, to be sourced: what is installed, found out by trying. Each function succeeds or fails.

has_command() {
  command -v "$1" >/dev/null 2>&1
}

# Compiles and links a program given as text: links COMPILER TEXT [OPTION …]
links() {
  local compiler=$1 text=$2
  shift 2
  printf '%s\n' "$text" | $compiler -x "${language:-c}" -o /dev/null - -x none "$@" >/dev/null 2>&1
}

# $CC, or else what CMake would choose
compiler() {
  if [ -n "${CC:-}" ]; then
    echo "$CC"
  else
    for name in cc gcc clang; do
      if has_command $name; then
        echo $name
        return
      fi
    done
    echo cc
  fi
}

has_compiler() {
  links "$(compiler)" 'int main(void) { return 0; }'
}

has_library() {
  links "$(compiler)" "#include <$1>
int main(void) { return 0; }" "-l$2"
}

has_cmocka() {
  links "$(compiler)" '#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
int main(void) { return 0; }' -lcmocka
}

has_fuzzer() {
  links clang '#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { (void)data; (void)size; return 0; }' \
    -fsanitize=fuzzer,address,undefined
}

has_cross_compiler() {
  links "$1-linux-gnu-gcc" '#include <stdio.h>
int main(void) { return 0; }'
}

has_emulator() {
  has_command "qemu-$1" || has_command "qemu-$1-static"
}

has_cxx() {
  language=c++ links "${CXX:-c++}" '#include <string>
int main() { return static_cast<int>(std::string().size()); }'
}

# Debian's packages of Python modules and headers are for this Python.
debian_python=/usr/bin/python3

has_python_module() {
  "$debian_python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)" 2>/dev/null
}

has_python_headers() {
  "$debian_python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}

# ---- Peers: programs and libraries that tests and benchmarks compare with ----

# The python3 that has Debian's packages need not be the first in PATH.
python_with() {
  for name in python3 /usr/bin/python3; do
    if "$name" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)" 2>/dev/null; then
      echo "$name"
      return 0
    fi
  done
  return 1
}

has_dmlc() {
  language=c++ links "${CXX:-c++}" '#include <dmlc/data.h>
int main() { return 0; }' -ldmlc
}

# Debian has Faiss as an archive, which needs these.
faiss_libraries='-lfaiss -fopenmp -llapack -lblas'

has_faiss() {
  language=c++ links "${CXX:-c++}" '#include <faiss/IndexFlat.h>
int main() { return faiss::IndexFlatL2(4).d == 4 ? 0 : 1; }' $faiss_libraries
}

has_sklearn() {
  python_with sklearn >/dev/null
}

has_xgboost() {
  python_with xgboost >/dev/null
}

has_torch() {
  python_with torch >/dev/null
}

# A shared library that programs load: has_loadable libcurl.so.4
has_loadable() {
  "$debian_python" -c "import ctypes; ctypes.CDLL('$1')" 2>/dev/null
}

# has_mpi openmpi, has_mpi mpich
has_mpi() {
  links "mpicc.$1" '#include <mpi.h>
int main(void) { return 0; }'
}

has_browser() {
  has_command chromium || has_command chromium-browser || has_command google-chrome
}

# tools/fetch.sh openapi puts it there.
has_openapi_validator() {
  [ -x "${FURROW_BUILD:-build}/npm/node_modules/.bin/validate-api" ]
}

has_data_table() {
  has_command Rscript && Rscript -e 'if (!nzchar(system.file(package = "data.table"))) quit(status = 1)' >/dev/null 2>&1
}
