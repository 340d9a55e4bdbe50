furrow index add --help
