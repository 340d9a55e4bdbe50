furrow predict --help
