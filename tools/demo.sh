#!/usr/bin/env bash
# tools/demo.sh BUILD: the command at work on data that it makes itself. Each command is shown, then run.
set -euo pipefail
build=$(cd "$1" && pwd)
PATH=$build:$build/bench:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

step() {
  printf '\n# %s\n' "$*"
}

run() {
  printf '$ %s\n' "$1"
  bash -c "$1"
}

step "A click log of 2 MB, one-hot, as libsvm text"
run "gen_rows ctr 2000000 > clicks.libsvm"
run "cut -c 1-100 clicks.libsvm | head -n 2"

step "What is in it"
run "furrow rows info clicks.libsvm"
run "furrow rows info --json clicks.libsvm"

step "The rows, one a line: label weight qid | field:index:value"
run "furrow rows dump --head 2 clicks.libsvm | cut -c 1-100"

step "Three machines read a third each: no row is lost, none is read twice"
run "for i in 0 1 2; do furrow rows dump --part \$i/3 clicks.libsvm; done | sort > thirds"
run "furrow rows dump clicks.libsvm | sort | cmp - thirds && echo the same rows"

step "Fields and values, from libffm text; a compressed file needs no option"
run "gen_rows ffm 500000 | gzip > clicks.ffm.gz"
run "furrow rows info clicks.ffm.gz | head -n 12"

step "From csv to libsvm, and to csv again: the same rows, to the last bit"
run "gen_rows csv 300000 > table.csv"
run "furrow rows convert 'table.csv?label_column=0' table.libsvm"
run "furrow rows convert table.libsvm again.csv --header"
run "cut -c 1-100 again.csv | head -n 2"
run "furrow rows dump 'table.csv?label_column=0' > rows"
run "furrow rows dump 'again.csv?label_column=0' | cmp - rows && echo the same rows"

step "Train, validation and test rows: the seed decides, not the number of threads"
run "furrow rows split clicks.libsvm --out parts/ --fractions 0.8,0.1,0.1 --seed 7"
run "wc -l parts/*"

step "A mistake is named with its place"
run "printf '1 3:0.5 7:1\n0 4:0.25 9:oops\n' > broken.libsvm"
run "furrow rows info broken.libsvm || echo \"(exit code \$?)\""
