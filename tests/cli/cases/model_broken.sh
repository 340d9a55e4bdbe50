# one bad entry of a model does not hide the others, and the message says what helps
mkdir m
printf '0\t0\t1\n0\t1\t2\n0\t2\t3\n' >w.tsv
furrow model import -q w.tsv m/b_good --row-type T_FLOAT_SPARSE >/dev/null
cp -r m/b_good m/c_bad
printf x >m/c_bad/0
ln -s gone m/a_link
mkdir m/d_odd
ln -s gone m/d_odd/_meta
echo "---- info"
try furrow model info m
try furrow model info m --no-stats --json
furrow model info m --json 2>/dev/null | is_json
try furrow model info m/c_bad --json
try furrow model info m/c_bad
echo "---- verify"
try furrow model verify m
furrow model verify m --json | is_json
try furrow model dump m --matrix b_good
echo "---- no regular file"
rm m/c_bad/0
mkdir m/c_bad/0
try furrow model verify m/c_bad
echo "---- metadata that is none"
printf 'garbage, and nothing but garbage' >m/c_bad/_meta
try furrow model dump m/c_bad
echo "---- metadata that differs"
printf x >m/b_good/meta
try furrow model dump m/b_good
try furrow model verify m/b_good
try furrow model convert m/b_good n
try furrow model convert m/b_good n --in-meta-name _meta -q
echo "---- metadata of a server"
mkdir ps
printf '\0\0\0\7\0\0\0\0' >ps/psmeta.ParameterServer_0
try furrow model dump ps
try furrow model verify ps
try furrow model convert ps n2 --meta-name meta
try furrow model dump ps --format ColIdValueTextRow
try furrow model dump ps --format ColIdValueTextRow --row-type T_FLOAT_SPARSE
cp ps/psmeta.ParameterServer_0 ps/psmeta.ParameterServer_1
try furrow model export ps p.npy
echo "---- long integers"
printf '0\t0\t9223372036854775807\n0\t1\t-9223372036854775808\n' >a.tsv
printf '0\t0\t9223372036854775806\n0\t1\t9223372036854775807\n' >b.tsv
furrow model import -q a.tsv a --row-type T_LONG_SPARSE >/dev/null
furrow model import -q b.tsv b --row-type T_LONG_SPARSE >/dev/null
try furrow model diff a b
furrow model diff a b --json | grep '"[ab]":'
