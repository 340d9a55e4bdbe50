furrow index recall --help
