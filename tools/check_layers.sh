#!/usr/bin/env bash
# tools/check_layers.sh: the rules of src/README.md, read from its table:
#   - a file includes headers of its own room, and of the rooms that the table allows it
#   - includes are written from the root (room/header.h); cli/ names its own headers alone
#   - intrinsics only in src/kern/<topic>_<isa>.c; cli/ includes nothing from outside but the C library
#   - no file is longer than 1500 lines, and no two sources have the same name
set -euo pipefail
cd "$(dirname "$0")/.."
files=$(tools/list_files.sh | grep -E '^(src|include|cli)/.*\.(c|h|inc)$')
names=$(tools/list_files.sh | grep -E '\.(c|h|cc)$')

complaints=$(
  echo "$names" | awk -F/ '$NF in seen { printf "%s: has the name of %s\n", $0, seen[$NF] } { seen[$NF] = $0 }'
  echo "$files" | xargs awk '
  function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
  }
  # src/kern/x.c -> kern, include/furrow/x.h -> furrow, cli/x.c -> cli
  function room_of(path, part) {
    split(path, part, "/")
    return part[1] == "cli" ? "cli" : part[2]
  }
  function check(header, quoted, part) {
    if (header ~ /^([a-z0-9]+intrin|arm_(neon|sve|acle))\.h$/ && FILENAME !~ /^src\/kern\/[a-z]+_(avx2|avx512|neon)\.c$/)
      complain(header ": intrinsics belong in src/kern/<topic>_<isa>.c")
    split(header, part, "/")
    if (part[1] in rooms) {
      if (!quoted) complain(header ": our own headers stand in quotes")
      if (part[1] != room && !((room, part[1]) in may)) complain(room " may not include " header)
    } else if (quoted) {
      if (room != "cli" || index(header, "/")) complain(header ": not written as room/header.h")
    } else if (room == "cli" && !(header in libc) && part[1] != "sys") {
      complain(header ": cli/ includes only furrow/*.h, its own headers and the C library")
    }
  }
  function end_of_file() {
    if (lines > 1500) printf "%s: %d lines, more than 1500\n", name, lines
  }
  BEGIN {
    split("assert ctype errno fcntl fenv float getopt glob inttypes limits locale math poll pthread pwd sched setjmp " \
      "signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath time " \
      "uchar unistd wchar wctype dirent dlfcn ftw regex termios", list, " ")
    for (i in list) libc[list[i] ".h"] = 1
    while ((getline line < "src/README.md") > 0) {
      if (line !~ /^\| *`[a-z]+` *\|/) continue
      split(line, cell, "|")
      gsub(/[ `]/, "", cell[2])
      rooms[cell[2]] = 1
      count = split(cell[4], other, "`")
      for (i = 2; i <= count; i += 2) may[cell[2], other[i]] = 1
    }
    if (!("base" in rooms)) print "src/README.md: found no table of rooms"
  }
  FNR == 1 {
    end_of_file()
    name = FILENAME
    room = room_of(FILENAME)
    if (!(room in rooms)) complain("the room " room " is not in the table of src/README.md")
  }
  { lines = FNR }
  match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]*[">]/) {
    text = substr($0, RSTART, RLENGTH)
    header = text
    sub(/^[^"<]*["<]/, "", header)
    sub(/[">]$/, "", header)
    check(header, text ~ /"$/)
  }
  END { end_of_file() }'
)
if [ -n "$complaints" ]; then
  echo "$complaints" >&2
  exit 1
fi
echo "layers: $(echo "$files" | wc -l) files keep to src/README.md"
