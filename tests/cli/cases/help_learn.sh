furrow learn --help
