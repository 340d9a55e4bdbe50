furrow index attributes --help
