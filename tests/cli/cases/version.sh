furrow --version | sed 's/[0-9][0-9.]*$/VERSION/'
furrow --version --verbose | grep -E '^(furrow|instruction set|libraries)' | sed -E 's/  +[^ ]+$/ .../'
furrow --version --json | is_json
