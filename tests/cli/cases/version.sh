# the version alone, and everything that a report of a mistake should say
furrow --version | sed 's/[0-9][0-9.]*$/VERSION/'
furrow --version --verbose | sed -E 's/^( *[a-zA-Z ]*[a-zA-Z])  +[^ ].*$/\1 .../'
furrow --version --verbose | grep -E '^ +(zlib|zstd|xxhash) +[0-9]+\.[0-9]+\.[0-9]+' | wc -l
furrow --version --json | is_json
furrow --version --json | grep -oE '^ *"[a-z_]+": ["{]'
FURROW_ISA=generic furrow --version --verbose | grep '^instruction set'
