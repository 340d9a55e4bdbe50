furrow rows dump small.libffm
furrow rows dump --format libfm small.libffm | cmp - <(furrow rows dump --format libffm small.libffm)
