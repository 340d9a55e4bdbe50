# what is written is none of the files that are read, --force or not
awk 'BEGIN { for (i = 0; i < 60; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 50 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
furrow index build --base v.fvecs --out a.index --nlist 3 --m 0 -q >/dev/null
furrow index search a.index v.fvecs -k 5 --out-ids t.ivecs >/dev/null
seq 60 >ids.txt
ln v.fvecs link.fvecs
cat v.fvecs a.index t.ivecs ids.txt l.data disk.index >before
quietly() { furrow "$@" >/dev/null || echo "exit $?"; }
quietly index build --base v.fvecs --out v.fvecs --nlist 3 --m 0 --force
quietly index build --base v.fvecs --out link.fvecs --nlist 3 --m 0 --force
quietly index build --base v.fvecs --out ids.txt --ids ids.txt --nlist 3 --m 0 --force
quietly index build --base - --kind fvecs --train t.ivecs --out v.fvecs --nlist 3 --m 0 --force <v.fvecs
quietly index search a.index v.fvecs --out-dist v.fvecs --force
quietly index search a.index v.fvecs --out-ids ./a.index --force
quietly index search a.index v.fvecs --filter-ids t.ivecs --out-ids t.ivecs --force
quietly index recall a.index v.fvecs --truth t.ivecs --plot t.ivecs --force
quietly index add a.index --base v.fvecs --out v.fvecs --force
quietly index remove a.index --ids ids.txt --out ids.txt --force
quietly index remove disk.index --lists l.data --ids 1 --out l.data --force
quietly index convert a.index a.index --force
quietly index convert disk.index l.data --force
quietly index remove ./disk.index --ids 1 --out l.data --force
quietly index merge disk.index --out l.data --force
cat v.fvecs a.index t.ivecs ids.txt l.data disk.index | cmp - before
# an index that changes in place
furrow index add a.index --base v.fvecs --out a.index --force -q | grep '^vectors'
furrow index remove a.index --ids 60: --out a.index --force | grep '^vectors'
# two results in one file, which need not be there
quietly index search a.index v.fvecs -k 3 --out-ids r.npy --out-dist ./r.npy --force
quietly index search a.index v.fvecs --range 20 --out-ids i.npy --out-dist j.npy --out-starts "$PWD/i.npy"
mkdir sub && ln -s sub folder
quietly index search a.index v.fvecs -k 3 --out-ids sub/r.npy --out-dist folder/r.npy
touch r.npy
quietly index search a.index v.fvecs -k 3 --out-ids r.npy --out-dist ./r.npy --force
quietly index search a.index v.fvecs -k 3 --out-ids r.npy --out-dist sub/r.npy --force
ls ./*.npy sub
