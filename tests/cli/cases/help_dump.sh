furrow rows dump --help
furrow rows dump --nonsense file -h | cmp - <(furrow rows dump --help)
