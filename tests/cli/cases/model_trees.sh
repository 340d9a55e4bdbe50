# trees of a model: as text, JSON, for graphviz and as a picture; importance of features; what info says of them
# rows FILE TYPE NUMBERS...: a matrix of trees of 7 nodes, one after the other
rows() {
  local name=$1 type=$2
  shift 2
  printf '%s\n' "$@" | awk '{ print int((NR - 1) / 7) "\t" (NR - 1) % 7 "\t" $1 }' >m.tsv
  furrow model import -q m.tsv "$model/$name" --row-type $type >/dev/null
}
make() {
  model=$1
  mkdir $model
  rows gbdt.split.feature T_INT_DENSE 12 3 -1 -1 -1 -1 -1  7 -1 12 -1 -1 -1 -1  -1 -1 -1 -1 -1 -1 -1
  rows gbdt.split.value T_DOUBLE_DENSE 0.5 -1.25 0 0 0 0 0  100 0 0.1 0 0 0 0  0 0 0 0 0 0 0
  rows gbdt.node.predict T_DOUBLE_DENSE 0 0 0.75 -0.5 0.25 0 0  0 1 0 0 0 -0.125 2  -3 0 0 0 0 0 0
}
make angel
echo "---- text"
furrow model trees angel
echo "---- one"
furrow model trees angel --tree 2
furrow model trees angel --first 1 --json
furrow model trees angel --json | is_json && echo "all of them are JSON"
echo "---- pictures"
furrow model trees angel --dot t.dot && cat t.dot
furrow model trees angel --tree 1 --svg t.svg && head -1 t.svg && grep -c '<rect class="split"' t.svg && grep -c '<rect class="\(low\|high\)"' t.svg
try furrow model trees angel --svg t.svg
furrow model trees angel --svg t.svg --force && grep -o 'tree 0: [^<]*' t.svg
echo "---- importance"
furrow model importance angel
furrow model importance angel --top 1 --json
furrow model importance angel --svg bars.svg >/dev/null && grep -c '<rect class="m0"' bars.svg
try furrow model importance angel --by gain
echo "---- with sums"
make sums
rows gbdt.split.gain T_DOUBLE_DENSE 5 2 0 0 0 0 0  1 0 4.5 0 0 0 0  0 0 0 0 0 0 0
for i in 0 1 2; do for j in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo "$i	$j	$((j < 7 ? 0 : 20 - j))"; done; done >m.tsv
furrow model import -q m.tsv sums/gbdt.node.grad.stats --row-type T_DOUBLE_DENSE >/dev/null
printf '0\t%s\t0\n1\t%s\t0\n2\t%s\t0\n' {0,0,0,1,1,1,2,2,2,3,3,3,4,4,4,5,5,5,6,6,6} | sed 's/^1\t0\t0/1\t0\t1/' >m.tsv
furrow model import -q m.tsv sums/gbdt.split.missing --row-type T_INT_DENSE >/dev/null
furrow model trees sums --first 2
furrow model importance sums
furrow model importance sums --by cover --top 2
furrow model info sums | head -7
furrow model info sums --json | is_json && echo "info is JSON"
echo "---- refused"
try furrow model trees angel --tree 3
try furrow model trees angel --tree 0 --first 2
try furrow model trees angel --first 0
try furrow model trees angel/gbdt.split.value
try furrow model importance nothing
echo "---- convert"
try furrow model convert -q angel converted --format ColIdValueTextRowFormat >/dev/null && furrow model trees converted >found && furrow model trees angel | cmp - found && echo same trees
try furrow model convert angel typed --row-type T_DOUBLE_DENSE
try furrow model convert angel typed --matrix gbdt.split.value --row-type T_FLOAT_DENSE
try furrow model convert angel/gbdt.split.feature typed --row-type T_DOUBLE_DENSE
ls -d typed 2>/dev/null
rm -r angel/gbdt.node.predict
try furrow model trees angel
try furrow model info angel --no-stats | wc -l
try furrow model info angel | wc -l
