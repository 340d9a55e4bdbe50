# the formats come from the library, which may have more
furrow rows --help | sed '/^Formats/,$d'
furrow rows --help | grep -cE '^  (libsvm|libfm|libffm|csv|dummy|dense) '
furrow help rows | cmp - <(furrow rows --help)
