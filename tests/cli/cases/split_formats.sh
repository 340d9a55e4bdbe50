furrow rows split 'named.csv?label_column=0' --out . --fractions 0.5,0.5 --header --seed 1
cat train.csv test.csv
furrow rows split small.libffm --out ffm --fractions 0.25,0.25,0.25,0.25
ls ffm*
furrow rows split implicit.dummy --format dummy --out dummy --fractions 1 --to cache
furrow rows dump dummy.part0.cache
