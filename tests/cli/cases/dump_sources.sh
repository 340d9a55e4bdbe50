# stdin, compressed, several files, a folder, a glob: the same rows
furrow rows dump small.libsvm >one
furrow rows dump - <small.libsvm | cmp - one
cat small.libsvm | furrow rows dump - | cmp - one
cat one one >two
furrow rows dump 'small.libsvm;small.libsvm' | cmp - two
mkdir folder
cp small.libsvm folder/a
cp small.libsvm folder/b
furrow rows dump folder | cmp - two
furrow rows dump 'folder/*' | cmp - two
if command -v gzip >/dev/null; then
  gzip -c small.libsvm >small.gz
  furrow rows dump small.gz | cmp - one
  furrow rows dump - <small.gz | cmp - one
fi
if command -v zstd >/dev/null; then
  zstd -q -c small.libsvm >small.zst
  furrow rows dump small.zst | cmp - one
fi
for packer in xz bzip2 lz4; do
  if command -v $packer >/dev/null; then
    $packer -c <small.libsvm >small.$packer
    furrow rows dump small.$packer | cmp - one
    furrow rows dump - <small.$packer | cmp - one
  fi
done
mkfifo pipe
cat small.libsvm >pipe &
furrow rows dump pipe | cmp - one
furrow rows dump <(cat small.libsvm) | cmp - one
: >empty
try furrow rows dump --format libsvm empty
