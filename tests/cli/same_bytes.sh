#!/usr/bin/env bash
# tests/cli/same_bytes.sh FURROW OTHER: two builds of the command, for different processors, write the same bytes: rows,
# caches, dictionaries, models in all formats, arrays, indexes. Plain C on both sides. Skipped where OTHER is not built.
set -euo pipefail
furrow=$(realpath "$1")
other=$(realpath -m "$2")
[ -x "$other" ] || { echo "skipped: $other is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FURROW_ISA=generic

# A log of a shop, and rows.
awk 'BEGIN { print "click,user,item,price"
  for (i = 0; i < 400; i++) printf "%d,u%d,i%d,%.2f\n", (i * 7 + i % 11) % 3 == 0, i * 13 % 37, i * 5 % 23, i % 17 / 4 }' >"$work/log.csv"
awk 'BEGIN { for (i = 0; i < 400; i++)
  printf "%d %d:%.3f %d:1 %d:%.1f\n", i % 2, i % 5, i / 7, 5 + i % 11, 16 + i % 3, i % 9 - 4 }' >"$work/rows.libsvm"
awk 'BEGIN { for (i = 0; i < 50; i++) printf "%d %d:%d %d:%d\n", i - 9, i, i * i, 1000 + i, -i }' >"$work/whole.libsvm"

# write COMMAND FOLDER: one file of every kind that the command writes
write() {
  local furrow=$1
  cd "$2"
  "$furrow" rows convert ../rows.libsvm rows.cache
  "$furrow" rows convert ../whole.libsvm wide.cache --index u64 --value i64
  "$furrow" rows convert ../rows.libsvm rows.csv
  "$furrow" rows schema ../log.csv --label click --out schema.json
  "$furrow" rows encode ../log.csv --schema schema.json --out rows.ffm --dictionary names -q
  "$furrow" train --model linear --train ../rows.libsvm --out linear -q
  "$furrow" train --model gbdt --train ../rows.libsvm --out trees -q -D ml.gbdt.tree.num=3
  "$furrow" train --model fm --rank 4 --train ../rows.libsvm --out fm -q
  for format in $formats; do "$furrow" model convert fm "fm.$format" --format "$format"; done
  "$furrow" model export fm fm.safetensors
  for matrix in $(cd fm && ls -d */ | tr -d /); do
    for ending in npy npz fvecs fbin tsv; do "$furrow" model export "fm/$matrix" "$matrix.$ending"; done
  done
  "$furrow" index build --base ../base.fbin --out flat.index --nlist 4 --m 0
  "$furrow" index build --base ../base.fbin --out pq.index --nlist 4 --m 4 --nbits 4 --direct-map hash
  "$furrow" index search pq.index ../base.fbin -k 3 --nprobe 4 --out-ids found.ivecs --out-dist found.fvecs
  "$furrow" index search flat.index ../base.fbin -k 3 --nprobe 4 --out-ids found.i64 --out-dist found.f32
}

formats="RowIdColIdValueTextRowFormat ColIdValueTextRowFormat ValueTextRowFormat RowIdColIdValueBinaryRowFormat"
formats="$formats ColIdValueBinaryRowFormat ValueBinaryRowFormat"
awk 'BEGIN { for (i = 0; i < 300; i++) { for (j = 0; j < 8; j++) printf "%s%d", j ? "\t" : "", (i * (j + 3) * 7 + i * i) % 31 - 15; print "" } }' \
  >"$work/base.txt"
python3 - "$work" <<'END' 2>/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
import struct, sys
rows = [[float(x) for x in line.split()] for line in open(sys.argv[1] + "/base.txt")]
data = struct.pack("<II", len(rows), len(rows[0])) + b"".join(struct.pack("<8f", *row) for row in rows)
open(sys.argv[1] + "/base.fbin", "wb").write(data)
END
mkdir "$work/one" "$work/other"
(write "$furrow" "$work/one") >/dev/null
(write "$other" "$work/other") >/dev/null
diff -r "$work/one" "$work/other"
echo "$(find "$work/one" -type f | wc -l) files have the same bytes"
