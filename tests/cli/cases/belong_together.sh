# files that belong together: whatever is linked, in the way, or done by two at once, none is left with another's partner
awk 'BEGIN { for (i = 0; i < 100; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
seq 100 | sed 's/^/name/' >names.txt
sed 's/^/more/' names.txt >more.txt
build=(furrow index build --base v.fvecs --nlist 4 --m 2 --nbits 4 -q)
echo "- a link to an index with names"
mkdir real
"${build[@]}" --names names.txt --out real/x.index >/dev/null
ln -s real/x.index l.index
furrow index search l.index v.fvecs -k 1 --nprobe 4 | sed -n 1p | cut -d : -f 1,2
try furrow index add l.index --base v.fvecs -q
try furrow index add l.index --base v.fvecs --names more.txt -q >/dev/null
furrow index info real/x.index | grep -E '^(vectors|names)'
try furrow index remove l.index --ids 0:99 -q >/dev/null
furrow index names real/x.index | sed -n 1p
"${build[@]}" --out l.index --force >/dev/null
ls real
echo "- names that are not there"
cp real/x.index y.index
ln -s nowhere y.index.names
try furrow index verify -q y.index
try furrow index convert y.index z.index
ls z.index 2>/dev/null
echo "- a file in the way of names that wait"
"${build[@]}" --names names.txt --out w.index >/dev/null
echo precious >w.index.names.new
try furrow index names w.index --drop
cat w.index.names.new
furrow index names w.index | sed -n 1p
rm w.index.names.new
echo "- two that split into the same folder"
for ((i = 0; i < 400; i++)); do sed 1d small.libsvm; done >c.libsvm
all=$(wc -l <c.libsvm)
for ((i = 0; i < 12; i++)); do
  furrow rows split c.libsvm --fractions 0.5,0.5 --out parts/ --force >/dev/null 2>&1 &
  furrow rows split c.libsvm --fractions 0.2,0.8 --out parts/ --force >/dev/null 2>&1
  wait
  [ "$(cat parts/* | wc -l)" = "$all" ] || wc -l parts/*
done
echo "- a disk that has no room for the second file"
awk 'BEGIN { print "user,item,time,click"; for (i = 0; i < 4000; i++) printf "u%d,i%d,%d,%d\n", i % 40, i % 7, 1600000000 + i * 60, i % 2 }' >log.csv
split=(furrow rows split log.csv --user user --time time --out sp/ --force)
"${split[@]}" --last 0.2 >/dev/null
sum=$(cat sp/* | cksum)
(ulimit -f 60 && "${split[@]}" --last 0.9) >/dev/null 2>err
echo "exit $?"
[ "$(cat sp/* | cksum)" = "$sum" ] || wc -l sp/*
awk -v long="$(printf '%0500d' 0)" 'NR == 1 { print } NR > 1 { sub(/,i/, ",i" long); print }' log.csv >long.csv
for log in log long; do
  furrow train -q --model fm --train $log.csv --schema auto --label click --user user --item item --epochs 1 --out $log.model
done
furrow model export log.model i.fvecs --vectors item >/dev/null
sum=$(cat i.fvecs* | cksum)
(ulimit -f 2 && furrow model export long.model i.fvecs --vectors item --force) >/dev/null 2>err
echo "exit $?"
[ "$(cat i.fvecs* | cksum)" = "$sum" ] || ls -l i.fvecs*
ls -A | grep furrow-
true
echo "- permissions of what is replaced"
furrow rows encode log.csv --schema auto --label click --dictionary dict --out e.ffm >/dev/null
chmod 600 e.ffm parts/train.libsvm
furrow rows encode log.csv --schema auto --label click --dictionary dict --out e.ffm --force >/dev/null
furrow rows split c.libsvm --fractions 0.5,0.5 --out parts/ --force >/dev/null
stat -c %a e.ffm parts/train.libsvm
