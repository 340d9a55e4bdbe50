# an array of objects is read like a line for each of them, however it is written
cat >lines.jsonl <<'END'
{"clicked": 1, "user": "u1", "note": "a \"q\" [x] {y}, \\", "tags": ["a", "b]["], "deep": {"x": 1}, "price": 2.5}
{"clicked": 0, "user": "u2", "note": "", "tags": [], "deep": {"x": 2}, "price": 1e3}
{"clicked": 0, "user": "u1"}
END
{ printf '[' && paste -sd, lines.jsonl && printf ']'; } >flat.json
printf '\357\273\277\n[\r\n  {\r\n    "clicked": 1,\r\n    "user": "u1",\r\n    "note": "a \\"q\\" [x] {y}, \\\\",\r\n    "tags": [\r\n      "a",\r\n      "b]["\r\n    ],\r\n' >deep.json
printf '    "deep": {\r\n      "x": 1\r\n    },\r\n    "price": 2.5\r\n  } , %s,\n%s\n]\n' "$(sed -n 2p lines.jsonl)" "$(sed -n 3p lines.jsonl)" >>deep.json
for source in lines.jsonl flat.json deep.json; do
  furrow rows schema $source --label clicked --out $source.schema >$source.columns
  furrow rows encode $source --schema lines.jsonl.schema --out $source.rows --dictionary $source.names >/dev/null
  cmp lines.jsonl.schema $source.schema
  cmp lines.jsonl.rows $source.rows
  cmp lines.jsonl.names/dictionary.furrow $source.names/dictionary.furrow
done
cat flat.json | furrow rows schema - --label clicked | cmp - lines.jsonl.columns
furrow rows schema flat.json --label clicked
# refused
refused() {
  printf "$1" >bad.json
  try furrow rows schema bad.json
}
refused '[{"a": 1}, {"a": 2'
refused '[{"a": 1} {"a": 2}]'
refused '[{"a": 1}, 5]'
refused '[{"a": 1},]'
refused '[{"a": 1}] 5'
refused '[{"a": "x\ny"}]'
refused '[{"a": 1}, {"a": 2,\n "b": y}]'
refused '[{"a": 1]]'
