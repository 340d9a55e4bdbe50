furrow rows dump --format dummy implicit.dummy
furrow rows dump --format dense numbers.dense
