head -c 480 small.index >cut.index
furrow index map cut.index | tail -n 3
furrow index map --json cut.index | is_json
(cat small.index; printf 'tail') >long.index
furrow index map long.index | tail -n 1
try furrow index map small.libsvm
