#!/bin/bash
# tests/interop/faiss_index.sh FURROW: index files between Furrow and Faiss, both ways. Exit code 77: Faiss (libfaiss-dev)
# is not installed.
. "$(dirname "$0")/setup/faiss_setup.sh"
${CXX:-c++} -O1 -o peer "$here/programs/faiss_peer.cc" $faiss_libraries || exit 1
mkdir theirs
./peer make theirs || exit 1
failed=0
complain() {
  echo "$1"
  failed=1
}

# What Faiss writes, Furrow reads, finds good and writes to the same bytes. Lists on disk stay where they are, which
# convert refuses for a file in another folder, but Faiss finds them by the path that it wrote.
for file in theirs/*.index; do
  name=$(basename "$file" .index)
  "$furrow" index verify "$file" >found || complain "$name: $(cat found)"
  grep -q '^error' found && complain "$name: $(cat found)"
  "$furrow" index convert "$file" - >"$name.index" || complain "$name: not converted"
  cmp "$file" "$name.index" || complain "$name: other bytes"
  "$furrow" index map "$file" | awk -v size="$(stat -c %s "$file")" '
    NR > 1 { if ($1 != at) bad = 1; at = $1 + $2 } END { exit bad || at != size }' || complain "$name: gaps in the map"
done

# What Furrow writes of its own (files made by its tests), Faiss reads and writes to the same bytes. Left out: what needs
# a newer Faiss, and what Faiss writes in another form.
for file in "$here"/../fuzz/corpus/index/*; do
  name=$(basename "$file")
  case $name in transforms | on_disk* | sparse_by_half | untrained | no_lists | map_hash | legacy_* | found_*) continue ;; esac
  "$furrow" index convert "$file" "own_$name.index" >/dev/null || complain "$name: not converted"
  ./peer rewrite "own_$name.index" again.index || complain "$name: Faiss does not read it"
  cmp "own_$name.index" again.index || complain "$name: Faiss writes it otherwise"
done

# A legacy file becomes one that Faiss reads, and so does one whose hashtable it orders anew.
for name in legacy_IvPQ legacy_IvFL map_hash; do
  "$furrow" index convert "$here/../fuzz/corpus/index/$name" "own_$name.index" >/dev/null || complain "$name: not converted"
  ./peer rewrite "own_$name.index" again.index || complain "$name: Faiss does not read it"
done

# What Furrow writes for older releases, this one reads as well: it writes the bytes of today and answers the same. Some
# files must be possible for each release: those with nothing that came later. Left out of the bytes: a hashtable, which
# Faiss orders anew, and what Faiss does not read back of an untrained refinement.
for release in 1.0 1.2.1 1.5.0 1.6.1 1.6.3 1.7.1 1.7.3; do
  written=0
  for file in theirs/*.index; do
    name=$(basename "$file" .index)
    "$furrow" index convert "$file" - --compat $release >old.index 2>why || {
      grep -q 'which Faiss reads since' why || complain "$name for $release: $(cat why)"
      continue
    }
    written=$((written + 1))
    ./peer rewrite old.index again.index || complain "$name for $release: Faiss does not read it"
    case $name in map_hash | pqr_untrained) ;; *) cmp "$file" again.index || complain "$name for $release: other bytes" ;; esac
    case $name in *trained) continue ;; esac
    ./peer search "$file" >a && ./peer search old.index >b && cmp a b || complain "$name for $release: other answers"
  done
  [ $written -ge 45 ] || complain "$release: only $written files"
  echo "$release: $written files"
done
"$furrow" index convert theirs/map_hash.index old.index --compat 1.5.0 --direct-map none --force >/dev/null &&
  ./peer search theirs/map_hash.index >a && ./peer search old.index >b && cmp a b || complain "no direct map: other answers"

# The same answers from both files.
for name in ivfpq8 refine hnsw itq; do
  ./peer search "theirs/$name.index" >a && ./peer search "$name.index" >b && cmp a b || complain "$name: other answers"
done
exit $failed
