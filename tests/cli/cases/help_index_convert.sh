furrow index convert --help
