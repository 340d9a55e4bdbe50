furrow recommend --help
