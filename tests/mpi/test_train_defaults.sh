#!/usr/bin/env bash
# tests/mpi/test_train_defaults.sh: `furrow train` with default settings under mpirun: several processes decide and train
# as one does. With the exact minimum furrow.json has the same bytes and weights do not differ.
#   tests/mpi/test_train_defaults.sh BUILD
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
furrow=$build/furrow
. "$here/mpi_setup.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# Rows by a fixed seed: classes that only the last rows have, an index 0 that only the last row has, and a table.
python3 - <<'PY'
import math, random
random.seed(7)
with open("clicks", "w") as f:
    for i in range(3000):
        a, b, c = random.randrange(50), random.randrange(50, 300), random.gauss(0, 1)
        s = math.sin(a) + math.cos(b) + c
        f.write(f"{int(random.random() < 1 / (1 + math.exp(-s)))} {a + 1}:1 {b + 1}:1 400:{c * 100 + 5000:.5g}\n")
    f.write("1 0:1 5:1 400:5000\n")
with open("classes", "w") as f:
    for i in range(1500):
        f.write(f"{i % 3 if i < 1400 else 3 + i % 2} {1 + i % 7}:{1 + i % 5} {9 + i % 3}:2.5\n")
with open("table.csv", "w") as f:
    f.write("age,price,label\n")
    for i in range(2000):
        age, price = random.gauss(40, 10), random.gauss(2e6, 3)
        f.write(f"{age:.3f},{price:.3f},{age + price - 2e6 + 20 * math.sin(i):.4f}\n")
with open("ratings.csv", "w") as f:
    f.write("user,item,rating\n")
    for i in range(2500):
        u, t = random.randrange(150), random.randrange(80)
        rating = round(3 + math.sin(u) + math.cos(t) + random.gauss(0, 0.4))
        f.write(f"u{u},i{t},{min(5, max(1, rating))}\n")
PY

# compare NAME OPTIONS…: the model of one process, of 2 and of 5
compare() {
  local name=$1 ranks
  shift
  "$furrow" train "$@" --out "$name.1" >out 2>err || { expect "$name alone" = trained; return; }
  sed 's/ *[0-9]*\( *best\)\{0,1\}$//' out | sed "s/$name.1/model/" >"$name.said"
  for ranks in 2 5; do
    "$here/run_ranks.sh" $ranks "$furrow" train "$@" --out "$name.$ranks" >out 2>err
    expect $? = 0
    expect "$(sed 's/ *[0-9]*\( *best\)\{0,1\}$//' out | sed "s/$name.$ranks/model/")" = "$(cat "$name.said")"
    cmp "$name.1/furrow.json" "$name.$ranks/furrow.json"
    expect $? = 0
    expect "$("$furrow" model diff "$name.1" "$name.$ranks" | awk '$1 == "largest" && $3 != 0')" = ""
  done
}
compare lr --model lr --train clicks
compare balanced --model lr --train clicks --class-weights balanced --valid-ratio 0.2
compare softmax --model softmax --train classes
compare linear --model linear --train table.csv
compare robust --model robust --train table.csv
compare fm --model fm --train clicks
compare raw --model fm --train ratings.csv --schema auto

# Folds
"$furrow" train --model lr --train clicks --folds 3 >folds.1
"$here/run_ranks.sh" 3 "$furrow" train --model lr --train clicks --folds 3 >folds.3 2>err
expect $? = 0
cmp folds.1 folds.3
expect $? = 0

# Folds of trees are of the rows of all processes
"$furrow" train --model gbdt --trees 5 --train clicks --folds 3 --out trees.1 -q >/dev/null
"$here/run_ranks.sh" 3 "$furrow" train --model gbdt --trees 5 --train clicks --folds 3 --out trees.3 -q >/dev/null
expect $? = 0
cmp trees.1/furrow.json trees.3/furrow.json
expect $? = 0

# A limit is of the features of all processes
"$here/run_ranks.sh" 3 "$furrow" train --model lr --train clicks --max-features 3 --out none >out 2>err
expect $? -ne 0
expect "$(grep -c 'more than 3 features' err)" = 1
expect ! -e none

# Another copy of the data on another machine
mkdir first other
cp clicks first/clicks
head -n 50 clicks >other/clicks
cat >elsewhere.sh <<'END'
#!/bin/bash
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
cd "$([ "$rank" = 0 ] && echo first || echo other)" && exec "$@"
END
for command in "rows info clicks" "train --model lr --train clicks --out none" "train --model gbdt --train clicks --out none"; do
  "$here/run_ranks.sh" 2 bash elsewhere.sh "$furrow" $command >out 2>err
  expect $? -ne 0
  expect "$(grep -c 'rank 1 sees other files than rank 0' err)" = 1
done
expect ! -e first/none

# What cannot be: one message, and no model
{ cat clicks; echo "1 3:four"; } >malformed
"$here/run_ranks.sh" 3 "$furrow" train --model lr --train malformed --out none >out 2>err
expect $? -ne 0
expect "$(grep -c '^furrow:' err)" = 1
expect "$(grep -c malformed err)" = 1
expect ! -e none
# (a few bytes: MPICH's mpirun fails by itself where much is sent to a process that does not read it)
head -n 3 clicks | "$here/run_ranks.sh" 2 "$furrow" train --model lr --train - --out none >out 2>err
expect $? -ne 0
expect "$(grep -c 'cannot be read in parts' err)" = 1
expect ! -e none
conclude
