# no file is readable by more people than the one it replaces: every command that replaces files, with every file closed
umask 022
awk 'BEGIN { srand(1); print "user,item,time,click"; for (i = 0; i < 900; i++) printf "u%d,i%d,%d,%d\n", i % 40, i % 37, 1600000000 + i * 60, (i % 40 + i % 37) % 2 }' >log.csv
sed 1d small.libsvm >rows.libsvm
for ((i = 0; i < 40; i++)); do sed 1d small.libsvm; done >many.libsvm
furrow train -q --model fm --train log.csv --schema auto --label click --user user --item item --epochs 1 --out source.model
furrow model export -q source.model v.fbin --vectors item >/dev/null
awk 'NR <= 30' v.fbin.names.txt >few.txt
sed 's/^/more/' v.fbin.names.txt >more.txt
mkdir work
cd work || exit
# Runs a command twice, the second time with all files and folders that it has made closed, and tells which of them are
# open afterwards.
again() {
  "$@" >/dev/null 2>../err || { echo "failed: $*" && cat ../err; }
  close "$@" --force
}
close() {
  find . -mindepth 1 -type f -exec chmod 600 {} +
  find . -mindepth 1 -type d -exec chmod 700 {} +
  "$@" >/dev/null 2>../err || { echo "failed: $*" && cat ../err; }
  open=$(find . -mindepth 1 -perm /077 -printf '%m %p\n' | sort)
  [ -z "$open" ] || printf '%s\n' "open after $*:" "$open"
}
again furrow rows convert ../rows.libsvm r.ffm
again furrow rows convert ../rows.libsvm r.csv
again furrow rows convert ../rows.libsvm r.cache --to cache
again furrow rows encode ../log.csv --schema auto --label click --dictionary d --out e.ffm
again furrow rows schema ../log.csv --label click --out s.json
again furrow rows split ../many.libsvm --fractions 0.5,0.5 --out parts/
again furrow rows split ../log.csv --user user --time time --last 0.2 --out logs/
again furrow train -q --model fm --train ../log.csv --schema auto --label click --user user --item item --epochs 1 --out m
again furrow train -q --model lr --train ../many.libsvm --epochs 1 --out l --history h.csv --curve c.svg --svg g.svg --dot g.dot
again furrow tune -q --model lr --train ../many.libsvm --runs 2 --conf-out t.json --out tuned
again furrow model convert m copy
again furrow model export m/embedding_embedding x.npz
again furrow model export m x.fvecs --vectors item
again furrow model export m/embedding_embedding x.npy
again furrow model export m x.safetensors
again furrow model import x.npy imported
again furrow train -q --model gbdt --train ../many.libsvm --out g
again furrow model importance g --svg i.svg
again furrow model trees g --svg t.svg --dot t.dot
again furrow eval -q --model g --data ../many.libsvm --curves roc.html
again furrow predict -q --model l --data ../many.libsvm --scores p.npy
again furrow recommend --model m --users u1 --out best.tsv
close furrow recommend --model m --users u2
B=(furrow index build --base ../v.fbin --nlist 2 --m 1 --nbits 4 -q)
again "${B[@]}" --names ../v.fbin.names.txt --out b.index
again "${B[@]}" --out plain.index
close furrow index names plain.index --set ../v.fbin.names.txt
close furrow index add b.index --base ../v.fbin --names ../more.txt -q
close furrow index remove b.index --ids 3 -q
close furrow index names b.index --drop
again furrow index convert plain.index other.index
again furrow index merge plain.index --out merged.index
again furrow index search plain.index ../v.fbin --out-ids f.ivecs --out-dist f.fvecs
again furrow index recall plain.index ../v.fbin --base ../v.fbin --plot r.svg
echo "- what is new in a pair or in a folder"
rm f.fvecs
close furrow index search plain.index ../v.fbin --out-ids f.ivecs --out-dist f.fvecs --force
rm x.fvecs.*
close furrow model export m x.fvecs --vectors item --force
rm d/schema.json
close furrow rows encode ../log.csv --schema auto --label click --dictionary d --out e.ffm --force
close furrow train -q --model gbdt --train ../many.libsvm --out l --force
ls -A | grep furrow-
true
