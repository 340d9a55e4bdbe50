furrow index verify --help
