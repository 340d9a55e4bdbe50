awk 'BEGIN { for (i = 0; i < 90; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 50 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
head -c 600 v.fvecs >first.fvecs
tail -c +601 v.fvecs | head -c 600 >second.fvecs
head -c 40 v.fvecs >two.fvecs
seq 1 90 | sed 's/^/item: /' >items.txt
head -30 items.txt >first.txt
tail -60 items.txt | head -30 | sed 's/$/\r/' >second.txt
build() { furrow index build --nlist 5 --m 0 -q "$@"; }
echo "---- built with names: the index is the same, the names are beside it"
build --base v.fvecs --out plain.index >/dev/null
build --base v.fvecs --ids items.txt --out items.index | grep -E 'vectors  |names'
build --base v.fvecs --ids items.txt --out json.index --json | is_json
cmp plain.index items.index
ls items.index*
furrow index names items.index | sed -n '1p;90p'
furrow index names items.index --json | is_json
furrow index info items.index | grep names
furrow index verify items.index
echo "---- search prints names"
furrow index search items.index two.fvecs -k 2 --nprobe 5
furrow index search items.index two.fvecs -k 2 --nprobe 5 --numbers
furrow index search items.index two.fvecs -k 2 --nprobe 5 --json
furrow index search items.index two.fvecs --range 1000 --nprobe 5
furrow index search items.index two.fvecs -k 2 --nprobe 5 --out-ids found.ivecs >/dev/null
furrow index search plain.index two.fvecs -k 2 --nprobe 5 --out-ids plain.ivecs >/dev/null
cmp found.ivecs plain.ivecs
echo "---- filters"
printf 'item: 7\nitem: 12\n' >some.txt
furrow index search items.index two.fvecs -k 3 --nprobe 5 --filter-ids some.txt
furrow index search items.index two.fvecs -k 2 --nprobe 5 --filter-names some.txt --others
furrow index search items.index two.fvecs -k 2 --nprobe 5 --filter-ids 6,11
printf 'item: 7\nnothing\nitem: 12\n' >other.txt
try furrow index search items.index two.fvecs --filter-ids other.txt
try furrow index search plain.index two.fvecs --filter-ids some.txt
try furrow index search items.index two.fvecs --filter-names nowhere.txt
try furrow index search items.index two.fvecs --filter-names some.txt --filter-ids 1
echo "---- removed and added: ids go on behind the last"
furrow index remove items.index --names some.txt --out less.index | grep -E 'removed|names'
furrow index remove items.index --ids some.txt --out same.index >/dev/null
cmp less.index same.index
cmp less.index.names same.index.names
tail -1 items.txt >last.txt
furrow index remove less.index --names - <last.txt | grep names
printf 'new a\nnew b\n' >new.txt
furrow index add less.index --base two.fvecs --names new.txt -q | grep -E 'vectors|names'
furrow index names less.index | tail -3
furrow index verify less.index
furrow index search less.index two.fvecs -k 2 --nprobe 5
try furrow index add less.index --base two.fvecs --ids new.txt -q
try furrow index add less.index --base two.fvecs -q
try furrow index add plain.index --base two.fvecs --ids new.txt -q
try furrow index remove less.index --names other.txt
try furrow index remove less.index --names new.txt --ids 1
echo "---- ids that are positions keep their names"
build --base v.fvecs --ids items.txt --out flat.index --m 2 --nbits 4 --refine-flat | grep kind
furrow index remove flat.index --ids 0:88 | grep names
furrow index names flat.index
echo "---- vectors that are skipped"
(head -c 40 v.fvecs && printf '\004\0\0\0\0\0\300\177\0\0\300\177\0\0\300\177\0\0\300\177' && tail -c +41 v.fvecs) >nan.fvecs
(cat items.txt && echo "item: 91") >more.txt
build --base nan.fvecs --ids more.txt --on-nan skip --out skip.index | grep -E 'left out|names'
furrow index names skip.index | sed -n '2,3p'
build --base nan.fvecs --ids more.txt --on-nan skip --out skip.index --force --m 2 --nbits 4 --refine-flat | grep -E 'left out|names'
furrow index verify skip.index
furrow index search skip.index two.fvecs -k 1 --nprobe 5
echo "---- merged, converted, set, dropped"
furrow index remove plain.index --ids : --out empty.index >/dev/null
furrow index add empty.index --base first.fvecs --ids first.txt --out first.index -q | grep names
furrow index add empty.index --base second.fvecs --ids second.txt --out second.index -q | grep names
furrow index merge first.index second.index --out merged.index --shift
furrow index verify merged.index
furrow index names merged.index | sed -n '30,31p'
try furrow index merge first.index second.index --out x.index
try furrow index merge first.index first.index --out x.index --shift
try furrow index merge first.index plain.index --out x.index --shift
try furrow index merge plain.index first.index --out x.index --shift
furrow index convert merged.index converted.index | grep names
cmp merged.index.names converted.index.names
furrow index names plain.index --set items.txt
cmp plain.index.names items.index.names
try furrow index names plain.index --set some.txt
furrow index names plain.index --drop
try furrow index names plain.index
echo "---- names of another index"
cp items.index.names plain.index.names
furrow index verify plain.index
cp first.index.names second.index.names
try furrow index search second.index two.fvecs
try furrow index add second.index --base two.fvecs --names new.txt -q
try furrow index verify second.index
furrow index info second.index | grep names || echo "none"
try build --base v.fvecs --out plain.index
build --base first.fvecs --out plain.index --force >/dev/null
ls plain.index*
echo "---- a file that has no names: moving it away is what helps"
cp items.txt second.index.names
try furrow index search second.index two.fvecs
sed 30q items.txt >thirty.txt
try furrow index names second.index --set thirty.txt
try furrow index names second.index --drop
cmp items.txt second.index.names
mv second.index.names away
furrow index names second.index --drop
echo "---- damaged names: --drop does without them"
cp first.index.names second.index.names
printf 'x' | dd of=second.index.names bs=1 seek=20 conv=notrunc status=none
try furrow index search second.index two.fvecs
furrow index names second.index --drop
ls second.index*
echo "---- numbers, names that look like numbers, and what is neither"
seq 900 989 >numbers.txt
build --base v.fvecs --ids numbers.txt --out numbers.index | grep names
furrow index search numbers.index two.fvecs -k 1 --nprobe 5
build --base v.fvecs --names numbers.txt --out numbers.index --force | grep names
furrow index search numbers.index two.fvecs -k 1 --nprobe 5
(seq 1 89 && echo ninety) >mixed.txt
try build --base v.fvecs --ids mixed.txt --out x.index
build --base v.fvecs --names mixed.txt --out mixed.index | grep names
echo "---- wrong"
try build --base v.fvecs --ids some.txt --out x.index
try build --base v.fvecs --ids items.txt --names items.txt --out x.index
sed 's/^item: 50$/item: 49/' items.txt >twice.txt
try build --base v.fvecs --ids twice.txt --out x.index
sed 's/^item: 50$//' items.txt >empty.txt
try build --base v.fvecs --ids empty.txt --out x.index
sed 's/^item: 50$/item\t50/' items.txt >tab.txt
try build --base v.fvecs --ids tab.txt --out x.index
try build --train v.fvecs --names items.txt --out x.index
cp items.txt own.index.names
try build --base v.fvecs --ids own.index.names --out own.index
try build --base v.fvecs --ids items.txt --out own.index --force
try furrow index convert items.index items.index.names --force
try furrow index remove items.index --ids 1 --out items.index.names --force
try furrow index merge items.index --out items.index.names --force
try furrow index search items.index two.fvecs --out-ids items.index.names --force
furrow index verify items.index
ls -A | grep -E 'x.index|furrow-|names.new'
