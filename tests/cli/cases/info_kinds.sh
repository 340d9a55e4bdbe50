show() { sed -n "/^$1/,/^[a-z]/p" | sed '$d'; }
furrow rows info 'named.csv?label_column=click' | grep -E '^(format|chosen by|columns|column names|named columns|indices)'
furrow rows info small.libffm | grep -E '^(fields|indices|density)'
furrow rows info weights.libsvm | show labels
furrow rows info weights.libsvm | show weights
furrow rows info weights.libsvm | show queries
furrow rows info implicit.dummy --format dummy | grep -E '^values'
seq 11 | furrow rows info --format libsvm - | show labels
seq 10 | furrow rows info --format libsvm - | grep values
printf '%s qid:%s 1:1\n' 1 5 2 4 3 5 | furrow rows info --format libsvm - | show queries
echo '9223372036854775807 1:-9223372036854775808' | furrow rows info --value i64 --format libsvm - | grep -E ' (min|max|values) '
furrow rows info --part 1/2 small.libsvm | grep -E '^(part|rows)'
: >empty
furrow rows info --format libsvm empty | grep -E '^(rows|features|columns|labels|indices|blocks)'
furrow rows info --format libsvm --json empty | is_json
