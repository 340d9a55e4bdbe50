furrow index merge --help
