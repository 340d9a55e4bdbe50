#!/bin/bash
# tests/interop/faiss_train.sh FURROW: indexes that Furrow trains and fills, read by Faiss: they encode as well as those
# that Faiss trains on the same vectors, and both find the same in them. A sample of the kinds of indexes; all of them with
# FURROW_FULL=1. Exit code 77: Faiss (libfaiss-dev) is not installed.
. "$(dirname "$0")/setup/faiss_setup.sh"
${CXX:-c++} -O1 -o trainer "$here/programs/faiss_trainer.cc" $faiss_libraries || exit 1
./trainer data base.f32 queries.f32 || exit 1
failed=0
others=5 # answers of a thousand that may be others: of neighbours at like distances either may come first

# check KIND METRIC OPTION …: what Faiss calls the index, and what Furrow is told
check() {
  local kind=$1 metric=$2
  shift 2
  "$furrow" index build --base base.f32 --dim 32 --out own.index --metric "$metric" -q --force "$@" >said 2>&1 || {
    cat said
    failed=1
    return
  }
  ./trainer compare "$kind" "$metric" base.f32 own.index 2>/dev/null || { echo "$kind $metric: worse codes"; failed=1; }
  "$furrow" index search own.index queries.f32 --dim 32 -k 10 --nprobe 8 --out-ids own.i64 --out-dist own_d.f32 --force \
    >/dev/null || failed=1
  ./trainer answers own.index queries.f32 own.i64 own_d.f32 8 $others || { echo "$kind $metric: other answers"; failed=1; }
}

check IVF32,PQ8np l2 --nlist 32 --m 8
check IVF32,PQ16x4np l2 --nlist 32 --m 16 --nbits 4
check OPQ8_16,IVF32,PQ8np l2 --nlist 32 --m 8 --opq --opq-dim 16
check L2norm,IVF32,PQ8np ip --nlist 32 --m 8 --normalize
if [ -n "${FURROW_FULL:-}" ]; then
  check IVF32,PQ8np ip --nlist 32 --m 8
  check IVF64,PQ4x6np l2 --nlist 64 --m 4 --nbits 6
  check IVF32,Flat l2 --nlist 32 --m 0
  check OPQ8,IVF32,PQ8np l2 --nlist 32 --m 8 --opq
  others=30 # a graph finds nearly the nearest lists, and not always the same ones
  check IVF64_HNSW16,PQ8np l2 --nlist 64 --m 8 --hnsw 16
fi
exit $failed
