# a file that is not a checkpoint stays what it is, also behind a link of the user's own; a link to nothing is no file
for ((i = 0; i < 50; i++)); do sed 1d small.libsvm; done >part.libsvm
mkdir mine linked piped folder new
echo precious >mine/checkpoint
echo precious >diary
ln -s ../diary linked/checkpoint
mkfifo piped/checkpoint
mkdir folder/checkpoint
ln -s ../later new/checkpoint
for folder in mine linked piped folder; do
  for model in lr fm; do
    for more in '' --resume; do
      try timeout -k 1 60 furrow train -q --model $model --train part.libsvm --index-base 0 --epochs 1 --out m --checkpoint $folder $more 2>&1
    done
  done
done
cat mine/checkpoint linked/checkpoint diary
ls -A mine linked piped folder folder/checkpoint
ls m later 2>&1 | sed 's/.*: //'
try furrow train -q --model fm --train part.libsvm --index-base 0 --epochs 1 --out m --checkpoint new --resume
head -c 8 later; echo
# one of Furrow's own that is damaged is replaced by a training that does not ask for it
head -c 50 later >new.part; mv new.part later
try furrow train -q --model fm --train part.libsvm --index-base 0 --epochs 1 --out m --force --checkpoint new
furrow info new | head -n 1
