cd raw
# The month alone decides, then the age alone: how the date is written must not matter.
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
BEGIN {
  r = 5
  split("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", name, " ")
  print "dotted;named;slashes;season;old"
  for (i = 0; i < 1500; i++) {
    y = 2001 + int(draw() * 20); m = 1 + int(draw() * 12); d = 1 + int(draw() * 28)
    printf "%d.%d.%d;%s %d %d;%d/%d/%d 9:05 PM;%d;%d\n", d, m, y, name[m], d, y, m, d, y, (m >= 4 && m <= 9), (y < 2010)
  }
}' >dates.csv
for column in 1 2 3; do
  for label in 4 5; do
    awk -F';' -v c=$column -v l=$label '{print $c ";" $l}' dates.csv >one.csv
    head -1001 one.csv >train.csv
    (head -1 one.csv && tail -500 one.csv) >test.csv
    name=$(head -1 one.csv | cut -d';' -f2)
    furrow rows schema train.csv --label $name --json -q | grep -o '"unit": .*\]'
    for model in gbdt lr; do
      rm -rf dates.model
      try furrow train --model $model --train train.csv --schema auto --label $name --seed 1 --out dates.model -q >report
      furrow eval --model dates.model --data test.csv -q |
        awk -v m="$name $model" '$1 == "accuracy" {print m, ($2 > 0.9 ? "above 0.9" : $2)}'
    done
  done
done
# Which comes first is decided by the whole column, and a cell that does not fit is refused.
furrow rows schema train.csv --label old -q | grep -o 'dates with.*first'
sed '7s/[^;]*/31\/12\/2003/' test.csv >bad.csv
try furrow predict --model dates.model --data bad.csv -q
