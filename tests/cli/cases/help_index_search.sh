furrow index search --help
