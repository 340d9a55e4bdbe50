awk 'BEGIN { for (i = 0; i < 300; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17 + i % 7 * j * 5) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
head -c 400 v.fvecs >q.fvecs
furrow index build --base v.fvecs --out a.index --nlist 6 --m 0 -q >/dev/null
# every vector finds itself; with all lists everything is found
furrow index recall a.index q.fvecs --base v.fvecs -k 20 --nprobe 6 --plot r.svg | awk '{ print $1, $2, $3, $4, $5 }'
head -c 4 r.svg && echo && grep -c '<circle' r.svg && tail -n 1 r.svg
furrow index recall a.index q.fvecs --base v.fvecs | awk 'NR > 1 { print $1, $2 }'
furrow index recall a.index q.fvecs --base v.fvecs --json -k 5 | is_json
# the truth from a file, and ids of one's own
furrow index search a.index q.fvecs -k 10 --nprobe 6 --out-ids truth.ivecs >/dev/null
furrow index recall a.index q.fvecs --truth truth.ivecs -k 10 --nprobe 6 | awk 'NR > 1 { print $1, $2, $3, $4, $5 }'
seq 1000 -1 701 >ids.txt
furrow index build --base v.fvecs --ids ids.txt --out b.index --nlist 6 --m 0 -q >/dev/null
furrow index recall b.index q.fvecs --base v.fvecs --ids ids.txt -k 10 --nprobe 6 | awk 'NR > 1 { print $1, $2, $3, $4 }'
# the truth from a matrix, whose ids are those of the index: all of them, and a part
mkdir model
furrow model import -q v.tsv model/vectors --row-type T_FLOAT_DENSE >/dev/null
furrow index build --from-model model/vectors --out c.index --nlist 6 --m 0 -q >/dev/null
furrow index recall c.index q.fvecs --from-model model/vectors -k 20 --nprobe 6 | awk '{ print $1, $2, $3, $4, $5 }'
furrow index recall a.index q.fvecs --base v.fvecs -k 20 --nprobe 1 --json | grep 'recall\|first' >from_file
furrow index recall c.index q.fvecs --from-model model/vectors --by row -k 20 --nprobe 1 --json | grep 'recall\|first' | cmp - from_file
furrow index build --from-model model/vectors --ids 100:250 --out d.index --nlist 6 --m 0 -q >/dev/null
furrow index recall d.index q.fvecs --from-model model/vectors --ids 100:250 -k 20 --nprobe 6 | awk 'NR > 1 { print $1, $2, $3, $4, $5 }'
furrow index recall d.index q.fvecs --from-model model/vectors -k 20 --nprobe 6 >/dev/null
echo "---- wrong"
recall() { furrow index recall "$@" >/dev/null || echo "exit $?"; }
recall a.index q.fvecs
recall a.index q.fvecs --base v.fvecs --truth truth.ivecs
recall a.index q.fvecs --truth truth.ivecs --ids ids.txt
recall a.index v.fvecs --truth truth.ivecs
recall a.index q.fvecs --base v.fvecs --from-model model/vectors
recall a.index q.fvecs --base v.fvecs --by row
recall a.index q.fvecs --from-model model/vectors --ids ids.txt
recall a.index q.fvecs --from-model model/nothing
recall a.index q.fvecs --from-model model/vectors --by column
recall a.index q.fvecs --base v.fvecs --nprobe 1,,2
recall a.index q.fvecs --base v.fvecs --nprobe 0
recall a.index q.fvecs --base v.fvecs --plot r.svg
recall a.index q.fvecs --base v.fvecs --plot nowhere/r.svg --nprobe 1
recall a.index q.fvecs --base truth.ivecs
(tail -c +5 q.fvecs | head -c 16 && printf '\0\0\200\177\0\0\0\0\0\0\0\0\0\0\0\0') >infinite.f32
head -c 16 infinite.f32 >base.f32
recall a.index infinite.f32 --dim 4 --base base.f32
tail -c 88 truth.ivecs >two.ivecs
recall a.index infinite.f32 --dim 4 --truth two.ivecs
echo "---- fewer neighbours than the columns ask for, other vectors than those in the index"
head -c 100 v.fvecs >five.fvecs
furrow index recall a.index q.fvecs --base five.fvecs -k 10 --nprobe 6 | awk 'NR > 1 { print $1, $4, $5 }'
furrow index recall a.index q.fvecs --base five.fvecs -k 10 --nprobe 6 -q | awk 'NR > 1 { print $1, $4, $5 }'
furrow index search a.index q.fvecs -k 5 --nprobe 6 --out-ids five.ivecs >/dev/null
furrow index recall a.index q.fvecs --truth five.ivecs -k 10 --nprobe 6 | awk 'NR > 1 { print $1, $4, $5 }'
