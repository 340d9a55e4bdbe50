furrow model formats
furrow model formats --json | is_json
try furrow model formats --plugin ./nothing.so
try furrow model formats all
