furrow rows split --help
