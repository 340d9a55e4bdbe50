# elements sorted by row and column, whatever the format and the partitions
printf '0\t0\t0.1\n0\t3\t-2.5\n0\t7\tNaN\n1\t1\t1e10\n1\t7\t-Infinity\n2\t2\t-0\n' >m.tsv
for format in RowIdColIdValueTextRow ColIdValueBinaryRow RowIdColIdValueBinaryRow ColIdValueTextRow; do
  furrow model import -q m.tsv "m.$format" --format "$format" --row-type T_FLOAT_SPARSE --part-cols 3 --servers 2 >/dev/null
  furrow model dump "m.$format" | cmp - <(furrow model dump m.RowIdColIdValueTextRow) && echo "$format: the same"
done
furrow model dump m.ColIdValueTextRow
echo "---- doubles and integers"
furrow model import -q m.tsv d --row-type t_double_sparse --sep '\t' >/dev/null
furrow model dump d --sep '\x09'
printf '0\t4611686018427387904\t-9223372036854775808\n' >l.tsv
furrow model import -q l.tsv l --row-type LONG_SPARSE_LONGKEY >/dev/null
furrow model dump l
echo "---- parts of it"
furrow model dump d --rows 1:
furrow model dump d --rows 0,2 --cols :3
furrow model dump d --head 2
furrow model dump d --head 0
furrow model dump m.ColIdValueTextRow --parts 2
