# Notes of columns that a proposal is unsure of: `train` shows the first five and counts the others, `rows schema` shows all.
awk 'BEGIN { print "a,b,c,d,e,f,g,kind"; for (i = 0; i < 600; i++) { for (c = 1; c <= 7; c++) printf "%d,", (i * c + i % 3) % 4
  print i % 2 ? "yes" : "no" } }' >log.csv
furrow train --model lr --train log.csv --label kind --out model -q >/dev/null
furrow train --model lr --train log.csv --label kind --out model --force 2>&1 >/dev/null | grep unsure
furrow rows schema log.csv --label kind 2>&1 >/dev/null | grep -c unsure
