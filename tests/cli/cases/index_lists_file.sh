# lists in a data file: written by build, convert, add, remove and merge, never replaced, found in the folder of the index
awk 'BEGIN { for (i = 0; i < 300; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
build=(furrow index build --base v.fvecs --nlist 4 --m 2 --nbits 4 -q)
"${build[@]}" --out whole.index >/dev/null
mkdir d
"${build[@]}" --out d/x.index --lists-file d/x.lists | grep -E '^(written|bytes|data)'
furrow index info d/x.index | grep -E '^(lists|data)'
furrow index verify d/x.index
furrow index convert whole.index c.index --lists-file c.lists | tail -n 3
cmp c.lists d/x.lists
furrow index convert d/x.index back.index --inline-lists >/dev/null
cmp back.index whole.index
for index in whole.index c.index d/x.index; do furrow index search $index v.fvecs -k 3 --nprobe 2 >$(basename $index).found; done
cmp whole.index.found c.index.found
cmp whole.index.found x.index.found
echo "- changes"
furrow index add c.index --base v.fvecs --lists-file c2.lists -q | grep -E '^(vectors|data)'
furrow index add whole.index --base v.fvecs --out more.index -q >/dev/null
furrow index convert c.index c3.index --inline-lists >/dev/null
cmp c3.index more.index
furrow index remove c.index --ids 100:500 --lists-file c4.lists | grep -E '^(vectors|data)'
furrow index verify c.index
furrow index remove more.index --ids 100:500 >/dev/null
furrow index convert c.index c5.index --inline-lists >/dev/null
cmp c5.index more.index
furrow index merge c.index d/x.index --shift --out m.index --lists-file m.lists | grep -E '^(vectors|data)'
furrow index merge more.index whole.index --shift --out n.index >/dev/null
furrow index convert m.index m2.index --inline-lists >/dev/null
cmp m2.index n.index
echo "- without the option they become part of the index"
furrow index remove c.index --ids 0:10 >/dev/null
furrow index info c.index | grep -E '^(lists|data)'
echo "- a build in parts, of which each has a quarter of the memory, writes the same"
for more in "" "--names names.txt"; do
  seq 300 | sed 's/^/name/' >names.txt
  rm -f p.lists
  try "${build[@]}" $more --train v.fvecs --train-size 150 --out whole.parts --lists-file w.lists --force >/dev/null
  try "${build[@]}" $more --train v.fvecs --out p.index --lists-file p.lists --memory 4000 --train-size 150 --force | grep -E '^(vectors|imbalance|names)'
  cmp w.lists p.lists
  furrow index convert whole.parts one.index --inline-lists --force >/dev/null
  furrow index convert p.index two.index --inline-lists --force >/dev/null
  cmp one.index two.index
  rm w.lists
done
furrow index names p.index | sed -n '1p;$p'
(echo mine >q.index.part-$BASHPID && exec "${build[@]}" --train v.fvecs --out q.index --lists-file q.lists --memory 4000 2>&1) | sed 's/part-[0-9]*/part-PID/'
ls | grep '^[pq]\.' | sed 's/part-[0-9]*/part-PID/'
echo "- refused"
try "${build[@]}" --out d/y.index --lists-file d/x.lists --force
try furrow index convert whole.index d/x.index --lists-file d/x.lists --force
try furrow index add d/x.index --base v.fvecs --lists-file d/x.lists
try furrow index merge c.index whole.index --out z.index --lists-file c2.lists --repeated-ids
try furrow index convert whole.index y.index --lists-file d/y.lists
try furrow index convert whole.index y.index --lists-file y.index
try furrow index convert whole.index - --lists-file y.lists
try furrow index convert whole.index y.index --lists-file y.lists --inline-lists
try furrow index convert whole.index y.index --lists-file y.lists --compat 1.0
try furrow index build --base v.fvecs --factory Flat --out y.index --lists-file y.lists -q
try furrow index build --base v.fvecs --factory IVF4,PQ2x4fs --out y.index --lists-file y.lists -q
try "${build[@]}" --out y.index --lists-file y.lists --shards
cmp c.lists d/x.lists
echo "- an index that keeps its data file is only written to the folder of that file"
mkdir far
try furrow index convert d/x.index far/y.index
touch far/x.lists
try furrow index convert d/x.index far/y.index
try furrow index convert d/x.index y.index --force
ls far
try furrow index convert d/x.index d/../d/z.index
try furrow index verify d/z.index
try furrow index convert d/x.index far/z.index --lists-file far/z.lists >/dev/null
try furrow index verify far/z.index
mv d/x.lists far/x.lists
try furrow index convert d/x.index far/w.index
try furrow index convert d/x.index far/w.index --lists far/x.lists -q
try furrow index verify far/w.index
ls | grep -E '^y\.|furrow-'
true
