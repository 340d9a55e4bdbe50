for data in small.libsvm weights.libsvm small.libffm named.csv 'named.csv?label_column=0' implicit.dummy; do
  furrow rows info --json "$data" >report || echo "no report of $data"
  is_json <report || echo "no JSON of $data"
done
furrow rows info --json weights.libsvm --value f32 | sed '/"seconds"/d; /"mb_per_second"/d; /"threads"/d'
# names that JSON has to escape; numbers that it does not know
printf 'a\\b,\303\251\377\nnan,inf\n' >'o"d.csv'
furrow rows info --json --format csv 'o"d.csv?header=yes' >report
is_json <report
grep uri report
grep -A 3 column_names report
grep -E '"(min|max|nan|infinite)": [^0-9]' report
