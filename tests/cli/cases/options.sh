# options that are wrong
try furrow rows dump
try furrow rows dump small.libsvm named.csv
try furrow rows dump --formt csv small.libsvm
try furrow rows dump --thread=1 small.libsvm
try furrow rows dump --xyzzy small.libsvm
try furrow rows dump -x small.libsvm
try furrow rows dump --threads
try furrow rows dump --threads --head 1 small.libsvm
try furrow rows dump --threads two small.libsvm
try furrow rows dump --threads -1 small.libsvm
try furrow rows dump --threads 4294967296 small.libsvm
try furrow rows dump --head 1x small.libsvm
try furrow rows dump --head '' small.libsvm
try furrow rows dump --index u16 small.libsvm
try furrow rows dump --value float small.libsvm
try furrow rows dump --on-bad skp small.libsvm
try furrow rows dump --quiet=yes small.libsvm
try furrow rows dump --chunk 8XB small.libsvm
try furrow rows dump --chunk 99999999999999999999 small.libsvm
try furrow rows dump --chunk 17179869184GiB small.libsvm
try furrow rows split small.libsvm
