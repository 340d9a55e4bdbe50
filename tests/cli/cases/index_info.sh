furrow index info small.index
furrow index info transforms.index
furrow index info disk.index | grep -E 'lists are|data file|stored'
furrow index info --json small.index
furrow index info --json transforms.index | is_json
