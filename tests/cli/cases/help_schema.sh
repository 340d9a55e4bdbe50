furrow rows schema --help
