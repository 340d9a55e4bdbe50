furrow index info --help
