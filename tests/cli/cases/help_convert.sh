furrow rows convert --help
