furrow rows compare --help
