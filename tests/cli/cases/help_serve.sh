furrow serve --help
