# lists with an empty member: every option that takes a list refuses them, and nothing is changed
awk 'BEGIN { for (i = 0; i < 40; i++) for (j = 0; j < 4; j++) printf "%d\t%d\t%d\n", i, j, (i * 31 + j * j * 17) % 97 }' >v.tsv
furrow model import -q v.tsv rows --row-type T_FLOAT_DENSE >/dev/null
furrow model export -q rows v.fvecs --no-ids >/dev/null
furrow index build -q --base v.fvecs --nlist 2 --m 2 --nbits 4 --out x.index >/dev/null
awk 'BEGIN { print "user,item,click"; for (i = 0; i < 300; i++) printf "u%d,i%d,%d\n", i % 20, i % 7, i % 2 }' >log.csv
furrow train -q --model fm --train log.csv --schema auto --label click --user user --item item --epochs 1 --out m
furrow train -q --model lr --train log.csv --schema auto --label click --out l
sum=$(cksum <x.index)
: >nothing.txt
# Runs a command with each list in the place of LIST.
lists() {
  local list
  for list in "$@"; do
    "${command[@]/LIST/$list}" >/dev/null 2>err
    local code=$?
    [ $code = 2 ] || echo "exit $code: ${command[*]/LIST/$list}"
    cat err >>errs
  done
  sed 's/ ([^ ]*)$//' errs | sort -u
  rm errs
}
empty=(, ,, 1, ,1 1,,2)
command=(furrow index remove x.index --ids LIST)
lists "${empty[@]}"
command=(furrow index remove x.index --ids LIST --others)
lists "${empty[@]}"
command=(furrow index search x.index v.fvecs --filter-ids LIST)
lists "${empty[@]}"
command=(furrow index recall x.index v.fvecs --base v.fvecs --nprobe LIST)
lists "${empty[@]}" ''
command=(furrow model dump rows --rows LIST)
lists "${empty[@]}" ''
command=(furrow model dump rows --parts LIST)
lists "${empty[@]}" ''
command=(furrow model convert rows copy --rows LIST)
lists "${empty[@]}" ''
command=(furrow model weights l --feature LIST)
lists "${empty[@]}"
command=(furrow rows split small.libsvm --out p --fractions LIST)
lists , ,, 0.5, ,0.5 0.5,,0.5 ''
command=(furrow rows split small.libsvm --out p --fractions 0.5,0.5 --names LIST)
lists , a, ,a a,,b ''
command=(furrow recommend --model m --users LIST)
lists , ,, u1, ,u1 u1,,u2 ''
command=(furrow train --model dnn --train small.libsvm --out n --fc LIST)
lists , 8, ,8 8,,8
command=(furrow train --model lr --train small.libsvm --out n --class-weights LIST)
lists , 1, ,1 1,,1
command=(furrow rows info LIST)
lists 'small.libsvm;;small.libsvm' ';'
command=(furrow train --model lr --train small.libsvm --out n -D LIST)
lists ''
command=(furrow rows encode LIST --schema auto --out e)
lists ''
echo "- a list that has nothing in it"
try furrow index remove x.index --ids , --others
try furrow index remove x.index --ids nothing.txt --others
try furrow index remove x.index --ids nothing.txt
[ "$(cksum <x.index)" = "$sum" ] || echo "the index was changed"
