# Vectors as text: their names become the names of ids.
printf '4 2\nred 1 0\ngreen 0 1 \ndark blue -1 0\nblack 0 -1\n' >w.vec
printf 'red 1 0\ngreen 0 1\n' >g.txt
printf 'id,x,y\n7,1,0\n8,0,1\n' >t.csv
printf '0.9,0.1\n-2,0.5\n' >q.csv
printf 'white 3 3\n' >more.txt
build() { furrow index build "$@" --force -q >out || { echo "exit $?" && return; }; grep -E '^(dimension|vectors|names) ' out; }
build --base w.vec --out w.index --factory Flat
furrow index names w.index
furrow index search w.index q.csv -k 2
build --base g.txt --out g.index --factory IVF1,Flat
furrow index add g.index --base more.txt -q | grep -E '^(added|names)'
furrow index search g.index more.txt -k 1
gzip -k t.csv
build --base t.csv.gz --out t.index --factory Flat --train w.vec
furrow index names t.index
echo '[plain]'
build --base q.csv --out q.index --factory Flat
printf '5\n6\n7\n8\n' >ids.txt
build --base w.vec --ids ids.txt --out x.index --factory IDMap2,Flat
furrow index kmeans w.vec --k 4 --out c.npy -q | grep -E '^(vectors|dimension)'
echo '[refused]'
build --base - --kind txt --train g.txt --out x.index --factory Flat <g.txt
build --base - --kind csv --train q.csv --out x.index --factory Flat <q.csv
printf 'a 1 2\nb 3 x\n' >bad.txt
build --base bad.txt --out x.index --factory Flat
printf 'a 1 2\nb 3 4\na 5 6\n' >bad.txt
build --base bad.txt --out x.index --factory Flat
furrow index search w.index more.txt --kind csv -k 1 || echo "exit $?"
furrow index add w.index --base g.txt -q || echo "exit $?"
