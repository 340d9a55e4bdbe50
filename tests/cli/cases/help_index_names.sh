furrow index names --help
