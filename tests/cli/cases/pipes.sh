# a reader that leaves early is no failure; a full disk is one
for ((i = 0; i < 3000; i++)); do sed 1d small.libsvm; done >many.libsvm
for ((i = 0; i < 8; i++)); do cat many.libsvm; done >big.libsvm
furrow rows dump big.libsvm | head -n 1
echo "${PIPESTATUS[@]}"
furrow rows convert big.libsvm - --to libsvm | head -n 1
echo "${PIPESTATUS[@]}"
furrow rows info --json small.libsvm | true
