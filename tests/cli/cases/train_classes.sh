# several classes: nets have an output for each class; names, probabilities, the fallback, going on
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN { r = 7; print "kind,x,y,shape"; for (i = 0; i < 600; i++) { x = draw() * 4 - 2; y = draw() * 4 - 2; d = x * x + y * y; printf "%s,%.4f,%.4f,%s\n", (d < 1.2 ? "inner" : d < 3 ? "middle" : "outer"), x, y, (draw() < 0.5 ? "o" : "x") } }' >rings.csv
head -n 451 rings.csv >train.csv
(head -n 1 rings.csv && tail -n 150 rings.csv) >test.csv
sure() { awk -F, '{ sum = 0; for (i = 5; i <= NF; i++) { split($i, part, ":"); sum += part[2] } if (sum < 0.99999 || sum > 1.00001) bad++ } END { print NR " rows, " bad + 0 " sums that are not 1" }'; }
furrow train -q --model softmax --label kind --train train.csv --out softmax 2>/dev/null
worst=$(furrow eval --model softmax --data test.csv | awk '$1 == "loss" { print $2 }')
for model in dnn wide_and_deep deepfm pnn nfm; do
  furrow train --model $model --label kind --train train.csv --out $model 2>/dev/null | grep 'SoftmaxLoss'
  furrow eval --model $model --data test.csv | awk -v worst=$worst -v model=$model '$1 == "loss" { print model, ($2 < worst + 0.02 ? "is not worse than softmax" : "loss " $2 ", softmax " worst) }'
  furrow predict --model $model --data test.csv --probabilities >p.csv
  sure <p.csv
  head -n 1 p.csv | grep -o '[a-z]*:' | tr -d '\n' && echo
  furrow train -q --model $model --label kind --train train.csv --out one --threads 1 --force 2>/dev/null && diff -r $model one && echo "the same for any number of threads"
  furrow train -q --model $model --load $model --train test.csv --out more --epochs 1 --force && furrow predict --model more --data test.csv --probabilities | sure
done
furrow eval --model dnn --data test.csv | awk '$1 == "accuracy" { print "dnn", ($2 > 0.9 ? "learns rings" : "accuracy " $2) }'
echo "---- nothing but a linear model"
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN { r = 9; for (i = 0; i < 900; i++) { a = int(draw() * 3); print (draw() < 0.4 ? a : int(draw() * 3)), a + 1 ":1", int(draw() * 20) + 5 ":1" } }' >plain.libsvm
for model in fm dnn deepfm; do
  furrow train --model $model --train plain.libsvm --out plain.$model | grep -o 'interactions did not help\|a class each'
  furrow train -q --model softmax --train plain.libsvm --out plain --force
  paste -d, <(furrow predict --model plain.$model --data plain.libsvm --probabilities) <(furrow predict --model plain --data plain.libsvm --probabilities) | awk -F, '{ d = $3 - $10; if (d > 0.001 || d < -0.001) bad++ } END { print bad + 0 " rows differ from softmax" }'
done
echo "---- products of two features decide"
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 } BEGIN { r = 11; for (i = 0; i < 2000; i++) { a = int(draw() * 12); b = int(draw() * 12); print (draw() < 0.9 ? (a % 3 + b % 3) % 3 : int(draw() * 3)), a + 1 ":1", b + 13 ":1" } }' >pairs.libsvm
head -n 1500 pairs.libsvm >pairs.train && tail -n 500 pairs.libsvm >pairs.test
loss() { furrow eval --model $1 --data pairs.test | awk '$1 == "loss" { print $2 }'; }
furrow train -q --model softmax --train pairs.train --out pairs.softmax
furrow train --model fm --train pairs.train --out pairs.fm --threads 2 | grep -o 'the loss is SoftmaxLoss\|interactions help'
awk -v fm=$(loss pairs.fm) -v softmax=$(loss pairs.softmax) 'BEGIN { print (fm < softmax / 2 ? "fm learns products" : "loss " fm ", softmax " softmax) }'
furrow train -q --model fm --train pairs.train --out one --threads 1 --force && diff -r pairs.fm one && echo "the same for any number of threads"
furrow train -q --model fm --load pairs.fm --train pairs.test --out more --epochs 1 --force && furrow predict --model more --data pairs.test --probabilities | sure
echo "---- sixty classes"
awk 'BEGIN { r = 3; for (i = 0; i < 1800; i++) { r = r * 16807 % 2147483647; c = r % 60; print c, c + 1 ":1", 61 + i % 9 ":1" } }' >sixty.libsvm
furrow train -q --model dnn --loss softmax --classes 60 --epochs 1 --train sixty.libsvm --out sixty && furrow eval --model sixty --data sixty.libsvm | awk '$1 == "accuracy" { print $2 }'
furrow train --model dnn --loss softmax --classes 60 --dry-run | awk '/FCLayer/ { print $1, $4 }'
furrow train --model dnn --loss softmax --classes 60 --fc 20 --dry-run | awk '/FCLayer/ { print $1, $4 }'
echo "---- numbers stay numbers when training goes on"
awk '{ $1 += NR / 2000; print }' plain.libsvm >real.libsvm
furrow train -q --model fm --rank 2 --epochs 2 --train real.libsvm --out real && furrow train -q --model fm --rank 2 --epochs 2 --load real --train real.libsvm --out further && grep -o '"L2Loss"' further/graph.json
echo "---- refused"
for model in ffm mlr svm; do try furrow train -q --model $model --train plain.libsvm --out no; done
try furrow train -q --model dnn --loss log --train plain.libsvm --out no
try furrow train -q --model ffm --loss softmax --classes 3 --train plain.libsvm --out no
try furrow train -q --model fm --solver lbfgs --train plain.libsvm --out no
try furrow train -q --model fm --classes 3 --train plain.libsvm --out no
try furrow train -q --model deepfm --classes 3 --train plain.libsvm --out no
