furrow index --help
