furrow index estimate --help
