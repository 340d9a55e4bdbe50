furrow index map small.index
furrow index map --json small.index >map.json
is_json <map.json && grep -c '"name"' map.json
