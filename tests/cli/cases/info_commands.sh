# Each command that `furrow info` suggests works on that file exactly as it is printed.
rows() { for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do eval "echo \"$1\""; done; }
rows '$((i % 2)) $((1 + i % 3)):0.5 $((5 + i % 4)):1' >zero_one.libsvm
rows '$((1 + i % 2)) $((1 + i % 3)):0.5 $((5 + i % 4)):1' >one_two.libsvm
rows '$((i % 3)) $((1 + i % 3)):0.5 $((5 + i % 4)):1' >three.libsvm
rows '$i.25 $((i % 3)):0.5 $((5 + i % 4)):1' >real.libsvm
rows '$((i % 2)) 0:$((i % 3)):1 1:$((5 + i % 4)):0.5' >two.libffm
rows '$((i % 2)) $((i % 3)).5 $i $((i % 4))' >table.dense
rows '$((i % 2)) $((i % 3)) $((5 + i % 4))' >bare.dummy
(echo clicked,age,price && rows '$((i % 2)),$i,$((i % 3)).5') >comma.csv
tr , ';' <comma.csv >semicolon.csv
tr , '\t' <comma.csv >tab.csv
(echo 'a b,y&z,q#' && rows '$i,$((i % 3)).5,$((i % 3))') >names.csv
rows '$i;$((i % 3)).5;$((i % 2))' >bare.csv
rows '0.$i,$((i % 3)).5,0.$((i * i))' >"real numbers.csv"
# 400 vectors of 2 floats of 16 bits, which are 1, 1.0009765625, …
{
  printf '\223NUMPY\001\000\166\000'
  printf '%-117s\n' "{'descr': '<f2', 'fortran_order': False, 'shape': (400, 2), }"
  for i in $(seq 100); do printf "\\$(printf %o "$i")\\074\\$(printf %o $((i % 7)))\\074\\$(printf %o "$i")\\100\\001\\074\\$(printf %o $((i % 5)))\\060\\$(printf %o "$i")\\074\\001\\070\\$(printf %o "$i")\\071"; done
} >half.npy
for file in zero_one.libsvm one_two.libsvm three.libsvm real.libsvm two.libffm table.dense bare.dummy comma.csv \
  semicolon.csv tab.csv names.csv bare.csv 'real numbers.csv' 'comma.csv?label_column=age' 'tab.csv?header=yes' half.npy; do
  rm -rf rows.model rows.gbdt
  furrow info "$file" | sed -n 's/^  furrow/furrow/p' >commands
  furrow info "$file" | grep -E '^(label column|task)'
  while read -r line; do
    (set -o pipefail && eval "$line") >printed 2>&1 && echo "ok $line" || { echo "fails $line" && cat printed; }
  done <commands
done
