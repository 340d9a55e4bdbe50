#!/usr/bin/env bash
# tests/mpi/test_train_net.sh: `furrow train` of nets under mpirun: sparse models are those of one process, byte for byte.
#   tests/mpi/test_train_net.sh BUILD        with MPI=openmpi or MPI=mpich, as run_ranks.sh
set -uo pipefail
build=$(cd "${1:?the folder of the build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
ranks=$here/run_ranks.sh
furrow=$build/furrow
. "$here/mpi_setup.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
but= # options of diff

# Rows of six features, one of 50 for each field; kind: two, number or classes.
rows() {
  awk -v n="$1" -v kind="$2" -v seed="$3" '
    function draw() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN {
      for (i = 0; i < n; i++) {
        z = 0; text = ""
        for (f = 0; f < 6; f++) { k = int(draw() ^ 2 * 50); z += (k * 7 + f * 3) % 11 - 5; text = text " " 1 + f * 50 + k ":1" }
        z = z / 6 + 2 * (draw() - .5)
        label = kind == "two" ? (z > 0) : kind == "number" ? z : z < -1 ? 0 : z < 1 ? 1 : 2
        print label text
      }
    }'
}

# NAME OPTIONS…: one process.
alone() {
  local name=$1
  shift
  "$furrow" train "$@" --threads 1 --quiet --servers 1 --out "$name.1" >"$name.log" 2>&1 || { cat "$name.log"; failed=1; }
}

# NAME N OPTIONS…: N processes.
together() {
  local name=$1 n=$2
  shift 2
  "$ranks" "$n" "$furrow" train "$@" --threads 1 --quiet --servers 1 --out "$name.$n" >"$name.log" 2>&1
  case $? in
  0) ;;
  77) exit 77 ;;
  *) cat "$name.log"; failed=1; return 1 ;;
  esac
}

check() {
  local name=$1 n
  shift
  alone "$name" "$@"
  for n in 2 3; do
    together "$name" $n "$@" || continue
    diff -r $but "$name.1" "$name.$n" >"$name.diff" || { echo "$name: $n ranks differ from one process"; head -3 "$name.diff"; failed=1; }
  done
}

rows 4000 two 1 >two.libsvm
rows 900 two 2 >two.test
rows 2000 number 3 >number.libsvm
rows 2000 classes 4 >classes.libsvm
rows 2 two 5 >tiny.libsvm
but="-x furrow.json" # the last digit of the loss of an exact minimum
check lr --model lr --train two.libsvm
but=
check steps --model lr --solver steps --epochs 4 --train two.libsvm --valid two.test
check svm --model svm --train two.libsvm --epochs 4
check linear --model linear --solver steps --epochs 3 --train number.libsvm
check softmax --model softmax --solver steps --epochs 3 --classes 3 --train classes.libsvm
check fm --model fm --rank 4 --epochs 4 --solver steps --train two.libsvm --patience 1 --keep best
check angel --defaults angel --model fm --rank 4 --epochs 3 --range 301 --train two.libsvm
check tiny --defaults angel --model lr --epochs 2 --valid-ratio 0 --train tiny.libsvm
check more --model fm --load fm.1 --rank 4 --epochs 2 --train two.libsvm

# Deep models are near those of one process, and the same in every run.
alone deep --model deepfm --rank 4 --fc 8 --epochs 3 --train two.libsvm
together deep 3 --model deepfm --rank 4 --fc 8 --epochs 3 --train two.libsvm
mv deep.3 deep.again
together deep 3 --model deepfm --rank 4 --fc 8 --epochs 3 --train two.libsvm
diff -r deep.3 deep.again || { echo "a deep model differs from run to run"; failed=1; }
for n in 1 3; do "$furrow" predict --model deep.$n --data two.test --quiet >deep.$n.scores || failed=1; done
paste -d, deep.1.scores deep.3.scores | awk -F, '{ d = $2 - $(2 + NF / 2); if (d * d > 1e-8) bad++ } END { exit bad > 0 || NR == 0 }' ||
  { echo "a deep model of three ranks is far from that of one"; failed=1; }

# Streams are trained together; what one process has at the end of its part stops all of them, with one message.
together stream 3 --model lr --solver steps --epochs 2 --stream --train two.libsvm
{ cat two.libsvm; echo "1 3:x"; } >broken.libsvm
"$ranks" 3 "$furrow" train --model fm --train broken.libsvm --threads 1 --quiet --out broken.3 >broken.log 2>&1
[ $? -ne 0 ] && [ "$(grep -c 'broken.libsvm' broken.log)" = 1 ] && [ ! -e broken.3 ] ||
  { cat broken.log; echo "a broken row: not refused once"; failed=1; }
exit $failed
