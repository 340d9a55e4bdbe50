furrow rows info --help
