#!/usr/bin/env bash
# tools/packages.sh require LEVEL: makes sure that the packages of a level are there.
# tools/packages.sh peers: prints which of the programs and libraries that tests and benchmarks compare with are installed.
#
#   build   a C compiler, cmake and the libraries that Furrow and its service link
#   test    and cmocka
#   mpi     and Open MPI and MPICH
#   valgrind   the packages of test, and valgrind
#   fuzz    the first two, and clang with its sanitizers
#   deb     the first, debhelper, lintian, MPI, and what builds a Python module
#   aarch64, s390x   a compiler for that processor with its C library, an emulator, cmake
#   docs    doxygen, and python3 for its filter
#   python  the first, and a Python that can build the package
#   python-test   and pytest, Hypothesis, mypy and SciPy for it, and the libraries that its tests compare with
#   ci      the first three, what the checks need, and the lighter of the programs that tests compare with
#
# What is needed is tried out first; the package manager is asked only for what is missing, and only when it can be
# asked (apt-get, as root or with a sudo that needs no password). Otherwise one line names the packages.
set -uo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
source "$tools/probes.sh"

# missing_for ARCH DEBIAN: DEBIAN is what Debian calls the processor
missing_for() {
  has_cross_compiler "$1" || printf '%s\n' gcc-$1-linux-gnu libc6-dev-$2-cross
  has_emulator "$1" || echo qemu-user
  has_command cmake || echo cmake
}

missing_for_docs() {
  has_command doxygen || echo doxygen
  has_command python3 || echo python3
}

# Debian's packages serve Debian's Python; another one that has all of it will do as well.
missing_for_python() {
  local modules=''
  [ "$level" != python-test ] || modules='pytest hypothesis mypy scipy'
  "$tools/python.sh" find $modules >/dev/null 2>&1 && return
  has_python_headers || echo python3-dev
  has_python_module ensurepip || echo python3-venv
  for module in numpy pip; do has_python_module $module || echo python3-$module; done
  [ "$level" = python-test ] || return
  for module in pytest hypothesis scipy; do has_python_module $module || echo python3-$module; done
  has_python_module mypy || echo mypy
}

missing_mpis() {
  has_mpi openmpi || echo libopenmpi-dev
  has_command mpirun.openmpi || echo openmpi-bin
  has_mpi mpich || echo libmpich-dev
  has_command mpirun.mpich || echo mpich
}

# The packages of the level that are missing, one per line.
missing() {
  if [ "$level" = docs ]; then
    missing_for_docs
    return
  fi
  case $level in
    aarch64) missing_for aarch64 arm64; return ;;
    s390x) missing_for s390x s390x; return ;;
  esac
  if ! has_compiler; then
    case ${CC:-cc} in *clang*) echo clang ;; *) echo gcc ;; esac
    [ -e /usr/include/stdio.h ] || echo libc6-dev
  fi
  has_command cmake || echo cmake
  has_library zlib.h z || echo zlib1g-dev
  has_library zstd.h zstd || echo libzstd-dev
  has_library xxhash.h xxhash || echo libxxhash-dev
  has_library event2/event.h event_core || echo libevent-dev
  [ "$level" = build ] && return
  if [ "$level" = deb ]; then
    has_command dh || echo debhelper
    has_command lintian || echo lintian
    has_command dh_python3 || echo dh-python
    has_python_headers || echo python3-dev
    has_mpi openmpi || echo libopenmpi-dev
    return
  fi
  if [ "$level" = python ] || [ "$level" = python-test ]; then
    missing_for_python
    return
  fi
  has_cmocka || echo libcmocka-dev
  [ "$level" != mpi ] || missing_mpis
  [ "$level" != valgrind ] || has_command valgrind || echo valgrind
  [ "$level" = test ] || [ "$level" = mpi ] || [ "$level" = valgrind ] && return
  if ! has_command clang; then
    echo clang
  elif ! has_fuzzer; then
    echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
  fi
  [ "$level" = fuzz ] && return
  has_command clang-format || echo clang-format
  has_cxx || echo g++
  has_command pkg-config || echo pkg-config
  missing_for_docs
  has_command abidiff || echo abigail-tools
}

# Peers only add tests: they are installed if that is possible; it is not an error if not.
missing_peers() {
  if [ "$level" = python-test ]; then
    for module in sklearn pandas tqdm xgboost hnswlib faiss torch; do
      has_python_module $module || echo python3-$module
    done
  fi
  [ "$level" = ci ] || return
  has_dmlc || echo libdmlc-dev
  has_faiss || echo libfaiss-dev
  has_sklearn || echo python3-sklearn
  has_torch || echo python3-torch
  has_browser || echo chromium
  has_command python3 || echo python3
  missing_mpis
  has_command valgrind || echo valgrind
  has_command nginx || echo nginx-light
  has_command wrk || echo wrk
  has_command openssl || echo openssl
  has_command curl || echo curl
  has_command npm || echo npm
  has_xgboost || echo python3-xgboost
  has_command zsh || echo zsh
  has_command fish || echo fish
  has_command man || echo man-db
  has_command groff || echo groff
  has_command mandoc || echo mandoc
  has_command dh || echo debhelper
  has_command lintian || echo lintian
  has_command dh_python3 || echo dh-python
  has_python_headers || echo python3-dev
  has_python_module numpy || echo python3-numpy
  has_python_module boto3 || echo python3-boto3
  has_loadable libcurl.so.4 || echo libcurl4
  has_loadable liblz4.so.1 || echo liblz4-1
}

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)

can_install() {
  has_command apt-get && { [ "$(id -u)" = 0 ] || { has_command sudo && sudo -n true 2>/dev/null; }; }
}

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >/dev/null 2>&1
}

require_level() {
  local round wanted peers peer
  # Once a C compiler is there, more can be tried out: a second round may find more to install.
  for round in 1 2 3; do
    wanted=$(missing)
    [ -n "$wanted" ] && can_install || break
    [ $round = 1 ] && apt update
    echo "installing" $wanted
    apt install -y --no-install-recommends $wanted || break
  done
  wanted=$(missing)
  if [ -n "$wanted" ]; then
    echo "missing packages:" $wanted "(apt-get install" $wanted")" >&2
    return 1
  fi

  if can_install; then
    peers=$(missing_peers)
    [ -z "$peers" ] || apt update
    for peer in $peers; do
      echo "installing $peer"
      apt install -y --no-install-recommends "$peer" || echo "$peer cannot be installed here"
    done
  fi
  return 0
}

list_peers() {
  local found='' absent='' package probe
  while read -r package probe; do
    if $probe; then found="$found $package"; else absent="$absent $package"; fi
  done <<'LIST'
libdmlc-dev has_dmlc
libfaiss-dev has_faiss
python3-sklearn has_sklearn
r-cran-data.table has_data_table
nginx-light has_command nginx
wrk has_command wrk
chromium has_browser
openapi-validator has_openapi_validator
python3-boto3 has_python_module boto3
libcurl4 has_loadable libcurl.so.4
liblz4-1 has_loadable liblz4.so.1
LIST
  echo "peers found:${found:- none}"
  echo "peers skipped (not installed):${absent:- none}"
}

case ${1:-}:$# in
  require:2)
    level=$2
    require_level
    ;;
  peers:1) list_peers ;;
  *)
    echo "usage: tools/packages.sh require LEVEL | peers; LEVEL: build test mpi valgrind fuzz deb aarch64 s390x docs python" \
      "python-test ci" >&2
    exit 2
    ;;
esac
