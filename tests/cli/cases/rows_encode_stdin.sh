cd raw
try furrow rows encode log.csv --schema hashed.json --out file.ffm -q >file.report
try furrow rows encode - --schema hashed.json --out - <log.csv | cmp - file.ffm
cat log.csv | try furrow rows encode - --schema hashed.json --out - | cmp - file.ffm
cat file.ffm
# A dictionary is learned in a pass of its own.
cat log.csv | try furrow rows encode - --schema plain.json --out -
cat log.csv | try furrow rows encode - --schema auto --out -
try furrow rows encode log.csv --schema plain.json --dictionary names --out plain.ffm -q >plain.report
cat log.csv | try furrow rows encode - --dictionary names --out - | cmp - plain.ffm
