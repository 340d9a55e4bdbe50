furrow --help
furrow -h | cmp - <(furrow --help)
furrow help | cmp - <(furrow --help)
