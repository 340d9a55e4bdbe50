# there and back again
furrow rows dump small.libsvm >rows
furrow rows convert small.libsvm small.csv
cat small.csv
furrow rows convert -q 'small.csv?label_column=0' back.libsvm >/dev/null
furrow rows dump back.libsvm | cmp - rows
furrow rows convert small.libsvm tabs.tsv --to csv --delimiter tab --header >/dev/null
head -n 2 tabs.tsv
furrow rows dump --format csv 'tabs.tsv?label_column=label&delimiter=tab' | cmp - rows
furrow rows convert small.libsvm small.cache --json
furrow rows convert small.cache again.svm >/dev/null
furrow rows dump again.svm | cmp - rows
furrow rows dump small.cache | cmp - rows
furrow rows convert small.libffm - --to libffm | furrow rows dump - --format libffm | cmp - <(furrow rows dump small.libffm)
furrow rows convert weights.libsvm - --to libsvm | furrow rows dump - | cmp - <(furrow rows dump weights.libsvm)
furrow rows convert small.libsvm one.libsvm --index-base 1 >/dev/null
furrow rows dump 'one.libsvm?indexing_mode=1' | cmp - rows
furrow rows convert small.libsvm - --to csv --columns 9 --zeros
furrow rows convert - - --to libsvm <small.libsvm | furrow rows dump - | cmp - rows
