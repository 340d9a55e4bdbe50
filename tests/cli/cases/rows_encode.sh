cd raw
try furrow rows encode log.csv --schema schema.json --out log.ffm --dictionary names
cat log.ffm
try furrow rows encode log.csv --dictionary names --out again.ffm --json
cmp log.ffm again.ffm
try furrow rows encode log.csv --dictionary names --out log.libsvm --threads 3
cat log.libsvm
try furrow rows encode log.csv --dictionary names --out log.cache -q
furrow rows convert log.cache cache.ffm -q >report
cmp log.ffm cache.ffm
# From elsewhere: the tables of a schema lie beside it.
cd ..
try furrow rows encode raw/log.csv --schema raw/schema.json --out - | cmp - raw/log.ffm
# Several logs, and a log that is packed.
gzip -k raw/log.csv
try furrow rows encode raw/log.csv.gz --dictionary raw/names --out - | cmp - raw/log.ffm
sed 's/ts/when/;s/"role": "time", //' raw/hashed.json >hashed.json
try furrow rows encode raw/log.csv raw/log.csv.gz --schema hashed.json --out - | wc -l
