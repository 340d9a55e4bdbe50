furrow index map --help
