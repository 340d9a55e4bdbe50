furrow eval --help
