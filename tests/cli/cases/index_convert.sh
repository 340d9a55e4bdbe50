furrow index convert small.index copy.index
cmp small.index copy.index
furrow index convert transforms.index - | cmp - transforms.index
furrow index convert --json legacy.index today.index
cmp today.index small.index
# lists in a data file stay there, even if it is not there, or become part of the file
furrow index convert disk.index disk2.index >/dev/null
cmp disk.index disk2.index
furrow index convert disk.index whole.index --inline-lists
furrow index info whole.index | grep 'lists are'
mv l.data moved.data
furrow index convert disk.index disk3.index >/dev/null
cmp disk.index disk3.index
try furrow index convert disk.index whole2.index --inline-lists
furrow index convert disk.index whole2.index --inline-lists --lists moved.data >/dev/null
cmp whole.index whole2.index
