for ((i = 0; i < 1000; i++)); do echo "$((i % 2)) $i:1"; done >all.libsvm
furrow rows dump all.libsvm | sort >rows
furrow rows split all.libsvm --out data/ --fractions 0.8,0.1,0.1 --seed 7
cat data/train.libsvm data/valid.libsvm data/test.libsvm | furrow rows dump - | sort | cmp - rows
# the same seed, the same files: whatever the threads and blocks
furrow rows split all.libsvm --out again --fractions 0.8,0.1,0.1 --seed=7 --threads 1 --chunk 100 --names a,b,c
cmp data/train.libsvm again.a.libsvm
cmp data/test.libsvm again.c.libsvm
furrow rows split - --out piped --fractions 0.8,0.1,0.1 --seed=7 --format libsvm --json <all.libsvm >report
is_json <report
cat report
cmp data/valid.libsvm piped.valid.libsvm
# another seed, other files
furrow rows split all.libsvm --out other --fractions 0.8,0.1,0.1 --seed 8
cmp -s data/test.libsvm other.test.libsvm && echo "the seed does nothing"
true
