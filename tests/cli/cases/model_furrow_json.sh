# furrow.json of a model: converted with it, not needed, refused when it is damaged or of a later version
awk 'BEGIN { r = 5; for (i = 0; i < 300; i++) { r = r * 16807 % 2147483647; a = r / 2147483647; r = r * 16807 % 2147483647; b = r / 2147483647; print (a + b > 1 ? 7 : 3), "1:" 1000 * a, "2:" 500 + b } }' >t.libsvm
furrow train -q --model lr --train t.libsvm --out m
furrow predict --model m --data t.libsvm >wanted
cut -d, -f4 wanted | sort -u
furrow model verify m
furrow model info m | grep other
for how in '--format ValueBinaryRowFormat' '--row-type T_DOUBLE_DENSE' '--servers 3'; do
  try furrow model convert m c $how >/dev/null && cmp m/furrow.json c/furrow.json && cmp m/graph.json c/graph.json
  furrow predict --model c --data t.libsvm | cmp - wanted && echo "same scores: $how"
  rm -rf c
done
cp -r m plain && rm plain/furrow.json
echo "without it the labels are 1 and -1"
furrow predict --model plain --data t.libsvm | cut -d, -f4 | sort -u
furrow predict --model plain --data t.libsvm | cut -d, -f1-3 >found && cut -d, -f1-3 wanted | cmp - found && echo same scores
cp -r m later && sed -i 's/"version" : 1/"version" : 2/' later/furrow.json
try furrow predict --model later --data t.libsvm
cp -r m damaged && head -c 220 m/furrow.json >damaged/furrow.json
try furrow predict --model damaged --data t.libsvm
try furrow eval --model damaged --data t.libsvm
try furrow train -q --model lr --load damaged --train t.libsvm --out none
try furrow model verify damaged
echo "standard input, once"
furrow train -q --model lr --train - --out s1 <t.libsvm && furrow eval --model s1 --data t.libsvm | awk '/^accuracy/ { print ($2 > 0.95) }'
# the index base stands in the URI: the pipe is opened once all the same
furrow train -q --model lr --train '-?indexing_mode=1' --out s8 <t.libsvm && furrow eval --model s8 --data t.libsvm | awk '/^accuracy/ { print ($2 > 0.95) }'
awk '{ split($2, a, ":"); split($3, b, ":"); print $1, "1:" a[2] / 500 - 1, "2:" 2 * (b[2] - 500) - 1 }' t.libsvm >tame.libsvm
furrow train -q --model lr --stream --train - --labels 3,7 --out s2 <tame.libsvm && furrow eval --model s2 --data tame.libsvm | awk '/^accuracy/ { print ($2 > 0.9) }'
try furrow train -q --model lr --stream --train - --labels 3,7 --out s5 <t.libsvm
try furrow train -q --model lr --stream --train - --out s3 <t.libsvm
try furrow train -q --model lr --stream --epochs 2 --train - --out s4 <t.libsvm
try furrow train -q --model softmax --stream --train - --out s6 <tame.libsvm
try furrow train -q --model deepfm --stream --valid-ratio 0 --train - --labels 3,7 --out s7 <tame.libsvm
