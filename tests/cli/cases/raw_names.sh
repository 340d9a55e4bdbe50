cd raw
train="furrow train --model linear --epochs 5 --seed 1 --threads 1 -q"
try $train --train log.csv --schema plain.json --out linear.model >report
try furrow model weights linear.model -q
try furrow predict --model linear.model --data log.csv --contributions --top 3 -q
