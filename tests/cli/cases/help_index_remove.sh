furrow index remove --help
