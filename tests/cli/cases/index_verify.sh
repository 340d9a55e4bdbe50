furrow index verify small.index
furrow index verify legacy.index
furrow index verify disk.index
furrow index verify --json disk.index
# an id that occurs twice, then a centroid that is no number
printf '\001' | dd of=small.index bs=1 seek=553 conv=notrunc 2>/dev/null
try furrow index verify small.index
printf '\377\377\377\177' | dd of=small.index bs=1 seek=98 conv=notrunc 2>/dev/null
try furrow index verify small.index
mv l.data elsewhere
try furrow index verify disk.index
try furrow index verify disk.index --lists elsewhere
