furrow rows dump named.csv
furrow rows dump 'named.csv?label_column=click&weight_column=2'
furrow rows dump --value i32 - --format csv <<END
1,2,3
4,,6
END
furrow rows dump --format csv 'tabs.csv?delimiter=tab&label_column=0'
printf '1,\n0,\n' | furrow rows dump --format csv '-?label_column=0' | cat -A
