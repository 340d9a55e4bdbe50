furrow tune --help
