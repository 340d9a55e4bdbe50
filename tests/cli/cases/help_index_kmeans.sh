furrow index kmeans --help
