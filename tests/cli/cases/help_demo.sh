furrow demo --help
