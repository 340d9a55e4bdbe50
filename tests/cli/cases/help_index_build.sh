furrow index build --help
