#!/usr/bin/env bash
# tests/mpi/test_index.sh BUILD: indexes that several processes build, write, keep in shards and search. MPI=mpich for
# MPICH.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # of MPI
furrow=$build/furrow
. "$here/mpi_setup.sh"
command -v python3 >/dev/null || { echo "skipped: python3 makes the vectors"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {
  "$here/run_ranks.sh" "$@" >"$work/out" 2>"$work/err"
  code=$?
}
same() { # A B: two files with the same bytes
  cmp "$1" "$2" >"$work/out" 2>&1
  expect $? = 0
}
left() { # temporary files that were left behind
  ls -A "$work" | grep -c -e furrow- -e names.new
}
cd "$work" || exit 1
python3 - <<'END'
import array, random, struct
random.seed(5)
D, CLUSTERS = 16, 40
centres = [[random.gauss(0, 3) for _ in range(D)] for _ in range(CLUSTERS)]
def write(name, n, bad=()):
    values = array.array('f')
    for i in range(n):
        centre = random.choice(centres)
        row = [c + random.gauss(0, 1) for c in centre]
        if i in bad: row[3] = float('nan')
        values.extend(row)
    with open(name + '.fbin', 'wb') as f:
        f.write(struct.pack('<ii', n, D))
        values.tofile(f)
    with open(name + '.fvecs', 'wb') as f:
        for i in range(n):
            f.write(struct.pack('<i', D) + values[i * D:(i + 1) * D].tobytes())
write('base', 3001)
write('queries', 60)
write('few', 2)
write('holes', 1000, bad=(0, 5, 333, 334, 500, 999))
with open('names.txt', 'w') as f:
    f.writelines('name %d\n' % i for i in range(3001))
with open('ids.txt', 'w') as f:
    f.writelines('%d\n' % (i * 7 % 3001 + 100) for i in range(3001))
with open('holes.txt', 'w') as f:
    f.writelines('hole %d\n' % i for i in range(1000))
END
gzip -k base.fvecs
common=(--nlist 16 --force -q --threads 1)
spec=("${common[@]}" --m 4 --nbits 5)
recall() { # INDEX: its recall, in ten thousandths
  "$furrow" index recall "$1" queries.fbin --base base.fbin -k 10 --nprobe 4 --json -q |
    python3 -c 'import json, sys; print(int(10000 * json.load(sys.stdin)["points"][0]["recall_at_10"]))'
}

echo "== one file"
"$furrow" index build --base base.fbin --out one.index "${spec[@]}" >/dev/null
for ranks in 2 3 5; do
  run $ranks "$furrow" index build --base base.fbin --out many.index "${spec[@]}"
  expect $code = 0
  expect "$(grep -c '^vectors  *3001' out)" = 1
  cp many.index first.index
  run $ranks "$furrow" index build --base base.fbin --out many.index "${spec[@]}"
  same many.index first.index # the same on every run
  apart=$(($(recall many.index) - $(recall one.index)))
  expect ${apart#-} -lt 100
  "$furrow" index verify many.index >out 2>err
  expect $? = 0
done

# Whole numbers: sums of the training are exact, so that centroids do not depend on the number of processes.
echo "== bytes of one process, for every kind"
python3 - <<'END'
import array, random, struct
random.seed(6)
n, d = 2000, 16
with open('whole.fbin', 'wb') as f:
    f.write(struct.pack('<ii', n, d))
    array.array('f', [float(random.randrange(-8, 9)) for _ in range(n * d)]).tofile(f)
END
check_bytes() {
  "$furrow" index build --base whole.fbin --out one.index "${common[@]}" "$@" >/dev/null
  expect $? = 0
  run 3 "$furrow" index build --base whole.fbin --out many.index "${common[@]}" "$@"
  expect $code = 0
  same one.index many.index
}
check_bytes --m 0
check_bytes --m 4 --nbits 5
check_bytes --m 4 --nbits 8 --direct-map array
check_bytes --m 4 --nbits 4 --direct-map hash --metric ip
check_bytes --m 4 --nbits 6 --refine-flat
check_bytes --m 4 --nbits 6 --hnsw 6 --nprobe 3
check_bytes --m 4 --no-residual --compat 1.0

echo "== ids, names, vectors that are left out, compressed files, training files"
for more in "--ids ids.txt" "--names names.txt" "--ids ids.txt --refine-flat" "--names names.txt --refine-m 4" \
  "--ids ids.txt --names names.txt --direct-map hash" "--train few.fbin --nlist 2 --nbits 1" \
  "--base base.fvecs.gz" "--opq --normalize"; do
  "$furrow" index build --base base.fbin --out one.index "${spec[@]}" $more >/dev/null
  run 3 "$furrow" index build --base base.fbin --out many.index "${spec[@]}" $more
  expect $code = 0
  [[ $more = *opq* ]] && continue
  "$furrow" index search one.index queries.fbin -k 5 --nprobe 16 >one.txt
  "$furrow" index search many.index queries.fbin -k 5 --nprobe 16 >many.txt
  python3 - one.txt many.txt >out <<'END'
import sys
one, many = (open(p).read().split() for p in sys.argv[1:3])
same = sum(a.split(':')[0] == b.split(':')[0] for a, b in zip(one, many))
print(int(100 * same / len(one)))
END
  expect "$(cat out)" -ge 90
  "$furrow" index verify many.index >out 2>err
  expect $? = 0
done
"$furrow" index build --base holes.fbin --names holes.txt --on-nan skip --out one.index "${spec[@]}" >/dev/null
run 3 "$furrow" index build --base holes.fbin --names holes.txt --on-nan skip --out many.index "${spec[@]}"
expect $code = 0
expect "$(grep -c '^left out  *6' out)" = 1
expect "$("$furrow" index names many.index | sort)" = "$("$furrow" index names one.index | sort)"

echo "== vectors of a matrix"
python3 -c '
for i in range(300):
    for k in range(16): print(k, i * 3 + 7, (i * 37 + k * 11) % 19 - 9.5, sep="\t")' >matrix.tsv
"$furrow" model import -q matrix.tsv emb --format TextColumn --row-type T_FLOAT_SPARSE >/dev/null
"$furrow" index build --from-model emb --out one.index --m 0 "${common[@]}" >/dev/null
run 3 "$furrow" index build --from-model emb --out many.index --m 0 "${common[@]}"
expect $code = 0
same one.index many.index

echo "== fewer vectors than processes"
run 4 "$furrow" index build --base few.fbin --out many.index --nlist 1 --m 4 --nbits 1 --force -q
expect $code = 0
"$furrow" index build --base few.fbin --out one.index --nlist 1 --m 4 --nbits 1 --force -q >/dev/null
same one.index many.index

echo "== failures leave the old file"
cp many.index old.index
run 3 "$furrow" index build --base holes.fbin --out many.index "${spec[@]}"
expect $code != 0
expect "$(grep -c 'vector .* has a NaN' err)" -ge 1
same many.index old.index
run 3 "$furrow" index build --base base.fbin --out missing/many.index "${spec[@]}"
expect $code != 0
run 3 "$furrow" index build --base base.fbin --out many.index --nlist 16 --m 4
expect $code != 0
same many.index old.index
run 3 "$furrow" index build --base - --kind fbin --train base.fbin --out many.index "${spec[@]}"
expect $code != 0
run 3 "$furrow" index build --base base.fbin --ids ids.txt --direct-map array --out many.index "${spec[@]}"
expect $code != 0
# the last process cannot write more than half of its part of the file
cat >limited.sh <<'END'
#!/bin/bash
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
[ "$rank" = 2 ] && ulimit -f 40
trap '' XFSZ
exec "$@"
END
chmod +x limited.sh
run 3 ./limited.sh "$furrow" index build --base base.fbin --out many.index --nlist 16 --m 0 --force -q
expect $code != 0
same many.index old.index
expect "$(left)" = 0

echo "== shards"
for more in "" "--refine-flat --k-factor 2" "--refine-m 4 --refine-nbits 4" "--metric ip --normalize" "--names names.txt"; do
  rm -f parts.index*
  run 3 "$furrow" index build --base base.fbin --out parts.index --shards "${spec[@]}" $more
  expect $code = 0
  expect "$(ls parts.index.shard* | wc -l)" = 3
  "$furrow" index verify parts.index >out 2>err
  expect $? = 0
  "$furrow" index merge parts.index --out joined.index --force >out
  expect "$(grep -c '^vectors  *3001' out)" = 1
  for search in "-k 10 --nprobe 5" "-k 3000 --nprobe 2" "-k 20 --nprobe 16 --filter-ids 200:2500" "--range 40 --nprobe 6"; do
    [[ $more = *refine* && $search = *range* ]] && continue
    "$furrow" index search joined.index queries.fbin $search >joined.txt
    "$furrow" index search parts.index queries.fbin $search >parts.txt
    same joined.txt parts.txt
    run 2 "$furrow" index search parts.index queries.fbin $search
    cp out parts.txt
    same joined.txt parts.txt
    [ -n "$more" ] && continue
    run 5 "$furrow" index search parts.index - --kind fbin $search <queries.fbin
    cp out parts.txt
    same joined.txt parts.txt
  done
  expect "$(recall parts.index)" = "$(recall joined.index)"
done
"$furrow" index search joined.index queries.fbin -k 10 --filter-names names.txt >joined.txt
run 3 "$furrow" index search parts.index queries.fbin -k 10 --filter-names names.txt
cp out parts.txt
same joined.txt parts.txt
run 3 "$furrow" index search joined.index queries.fbin -k 10 --filter-names names.txt
cp out parts.txt
same joined.txt parts.txt
# Filters by attributes: the processes of a job find what one finds, also in lists on disk; and so
# do shards, whose attributes are written by rank 0.
awk 'BEGIN { print "name,price,lang"; while ((getline name < "names.txt") > 0) print name "," n++ % 100 "," (n % 3 ? "de" : "fr") }' >items.csv
where="price < 7 and lang = 'fr'"
"$furrow" index attributes joined.index --set items.csv >out
"$furrow" index convert joined.index disk.index --lists-file disk.lists --force >out
"$furrow" index search joined.index queries.fbin -k 10 --where "$where" >one.txt
expect "$(wc -l <one.txt)" -gt 0
for path in joined.index disk.index; do
  "$furrow" index search $path queries.fbin -k 10 --where "$where" >many.txt
  same one.txt many.txt
  run 2 "$furrow" index search $path queries.fbin -k 10 --where "$where"
  expect $code = 0
  cp out many.txt
  same one.txt many.txt
done
run 3 "$furrow" index build --base base.fbin --out many.index --names names.txt --attributes items.csv "${spec[@]}"
expect $code = 0
"$furrow" index verify many.index >out
expect $? = 0
"$furrow" index build --base base.fbin --out single.index --names names.txt --attributes items.csv "${spec[@]}" --force >out
same many.index.attributes single.index.attributes
awk 'BEGIN { print "id,price"; for (i = 0; i < 1000; i++) print i "," i % 100 }' >prices.csv
for more in "--factory Flat" "--nlist 4 --m 4 --nbits 4 --direct-map array"; do # ids that the index counts
  "$furrow" index build --base holes.fbin --on-nan skip --out single.index --attributes prices.csv --force -q $more >out
  run 3 "$furrow" index build --base holes.fbin --on-nan skip --out many.index --attributes prices.csv --force -q $more
  expect $code = 0
  "$furrow" index attributes single.index >one.txt
  "$furrow" index attributes many.index >many.txt
  same one.txt many.txt
done
run 3 "$furrow" index build --base base.fbin --out parts.index --shards --names names.txt --attributes items.csv --force "${spec[@]}"
expect $code = 0
expect "$(grep -c '^rows of attributes  *3001' out)" = 1
"$furrow" index verify parts.index >out
expect $? = 0
"$furrow" index merge parts.index --out joined.index --force >out
for filter in "$where" "price < 80" "price = 1 and lang = 'de'"; do
  "$furrow" index search joined.index queries.fbin -k 10 --where "$filter" >one.txt
  for ranks in 1 2; do
    run $ranks "$furrow" index search parts.index queries.fbin -k 10 --where "$filter"
    expect $code = 0
    cp out many.txt
    same one.txt many.txt
  done
done
run 2 "$furrow" index search parts.index queries.fbin -k 10 --where "prize"
expect $code != 0
cp parts.index old.index
run 3 "$furrow" index build --base holes.fbin --out parts.index --shards "${spec[@]}"
expect $code != 0
same parts.index old.index
expect "$(ls parts.index.shard* | wc -l)" = 3
rm parts.index.shard1-*
run 3 "$furrow" index search parts.index queries.fbin
expect $code != 0
"$furrow" index verify parts.index >out 2>err
expect $? != 0
"$furrow" index add parts.index --base few.fbin >out 2>err
expect $? = 2
expect "$(grep -c 'manifest of shards' err)" = 1

echo "== Faiss reads what several processes wrote"
. "$here/../../tools/probes.sh"
if has_faiss && ${CXX:-c++} -O1 -o peer "$here/../interop/programs/faiss_peer.cc" $faiss_libraries; then
  for more in "" "--refine-flat" "--opq --metric ip" "--nbits 8 --hnsw 8"; do
    run 3 "$furrow" index build --base base.fbin --out many.index "${spec[@]}" $more
    "$furrow" index search many.index queries.fbin -k 10 --nprobe 4 --out-ids f.i64 --out-dist f.f32 --force >/dev/null
    ./peer compare many.index queries.fbin 10 4 f.i64 f.f32 >out 2>err
    expect $? = 0
  done
fi

echo "== other commands run once"
"$furrow" index build --base whole.fbin --out one.index "${spec[@]}" >/dev/null
cp one.index many.index
"$furrow" index add one.index --base base.fbin -q >/dev/null
run 3 "$furrow" index add many.index --base base.fbin -q
expect $code = 0
same one.index many.index
conclude
