# words that are no command
try furrow
try furrow rows
try furrow row
try furrow rows dupm small.libsvm
try furrow rows conv a b
try furrow xyzzy
try furrow --verbose
