cd raw
train="furrow train --model linear --epochs 5 --seed 1 --threads 1 -q"
try $train --train log.csv --schema plain.json --out linear.model >report
try furrow model weights linear.model -q
try furrow predict --model linear.model --data log.csv --contributions --top 3 -q
echo "one event is scored as the same line of a log; a value that the model has not seen is named"
event="furrow predict --model linear.model --event userId=u1 --event price=1.5"
cmp <($event --event movieId=m1 -q | cut -d, -f2) <(furrow predict --model linear.model --data log.csv -q | head -n 1 | cut -d, -f2) && echo same
try $event --event movieId=M1 >report
try $event --event movieId=M1 -q >report
try $event --event movie=m1
try $event --event movieId
try $event --event price=2
try furrow predict --model linear.model --event userId=u1 --event price=cheap
try furrow predict --model linear.model --event userId=u1 --data log.csv
