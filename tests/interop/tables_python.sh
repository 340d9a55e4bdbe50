#!/bin/bash
# tests/interop/tables_python.sh FURROW: tables that Python's csv and json modules write, as Furrow reads them. Exit code 77: there is
# no Python.
module=csv
. "$(dirname "$0")/setup/python_setup.sh"
dump=$FURROW_BUILD/tests/table_dump

# Prints the cells of a file, one JSON array a record, as Python has them; then Furrow's must be the same for any pieces and threads.
$python - <<'END' || exit 1
import csv, gzip, json, random
random.seed(3)
alphabet = "abcXYZ019 .,;\t|\"'\n\r\\#\u00e9\u4e2d\U0001f600"
def word(most):
    return "".join(random.choice(alphabet) for _ in range(random.randrange(most)))
def dumped(cell):
    return [str(x) for x in cell] if isinstance(cell, list) else cell if cell else None
def write_expected(name, names, records):
    with open(name + ".expected", "w", newline="") as out:
        for record in [names] + records:
            out.write(json.dumps([dumped(cell) for cell in record], ensure_ascii=False, separators=(",", ":")) + "\n")
for i, (delimiter, end) in enumerate([(",", "\n"), (",", "\r\n"), (";", "\n"), ("\t", "\r\n"), ("|", "\n")]):
    names = ["name %d" % k for k in range(5)]
    records = [[word(12) for _ in names] for _ in range(3000)]
    with open("%d.csv" % i, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerow(names)
        writer.writerows(records)
    with open("%d.csv" % i, newline="", encoding="utf-8") as back:
        assert list(csv.reader(back, delimiter=delimiter)) == [names] + records
    write_expected("%d.csv" % i, names, records)
    # quotes only where they are needed; blanks around a cell do not belong to it then
    records = [[" ".join(cell.split()) for cell in record] for record in records]
    with gzip.open("%d.min.csv" % i, "wt", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
        writer.writerow(names)
        writer.writerows(records)
    write_expected("%d.min.csv" % i, names, records)
def value():
    kind = random.randrange(6)
    return (word(12), random.randrange(-5, 5), random.random() * 10.0 ** random.randrange(-9, 9), random.random() < 0.5, None,
            [word(5) or "x" for _ in range(random.randrange(1, 4))])[kind]
def cell_of(v):
    return v if isinstance(v, (str, list)) or v is None else json.dumps(v)
for ascii_only in (True, False):
    name = "%d.json" % ascii_only
    names = ["a", "b", "c d", "e.f", "e.g"]
    records = []
    with open(name, "w", encoding="utf-8") as out:
        for i in range(3000):
            values = [i if k == 0 and i == 0 else value() for k in range(5)]
            flat = {k: v for k, v in zip(names[:3], values[:3])}
            flat["e"] = {"f": values[3], "g": values[4]}
            if i:
                flat = dict(random.sample(list(flat.items()), len(flat)))
            out.write(json.dumps(flat, ensure_ascii=ascii_only) + "\n")
            records.append([cell_of(v) for v in values])
    write_expected(name, names, records)
END
for expected in *.expected; do
  file=${expected%.expected}
  delimiter='' # text of random marks does not show it
  case $file in 0.* | 1.*) delimiter=',' ;; 2.*) delimiter=';' ;; 3.*) delimiter='\t' ;; 4.*) delimiter='|' ;; esac
  case $file in *.csv) args="?header=yes&delimiter=$delimiter" ;; *) args='' ;; esac
  for how in '1 0' '2 1000' '3 70000'; do
    "$dump" "$file$args" $how >ours || exit 1
    $python - "$file" <<'END' || exit 1
import json, sys
read = lambda name: [json.loads(line) for line in open(name, encoding="utf-8", newline="\n")]
ours, theirs = read("ours"), read(sys.argv[1] + ".expected")
assert len(ours) == len(theirs), (sys.argv[1], len(ours), len(theirs))
for i, (a, b) in enumerate(zip(ours, theirs)):
    assert a == b, (sys.argv[1], i, a, b)
END
  done
done
