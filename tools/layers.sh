#!/usr/bin/env bash
# tools/layers.sh: the rules of src/README.md, with the modules and subfolders read from its tables:
#   - a file includes headers of its own module and of the modules that the table allows; a public header counts as part of
#     the module that the table gives it to
#   - within a module, a file includes headers of its own subfolder and of the subfolders above it in the table
#   - includes are written from src (module/header.h, module/subfolder/header.h); in cli from cli, in serve from serve or cli,
#     in python/src
#     without a folder (py_core.h), and there public headers as in any program (<furrow/rows.h>)
#   - every folder of src, cli and tests/unit is a module or a listed subfolder; no folder has more than 40 files, except
#     data of tests
#   - cli and serve print through cli/core/output.h and `say` of cli/core/shown_text.h, which escape what a terminal would obey
#   - mpi.h only in src/comm/mpi_comm.c; intrinsics only in src/kern/…/<topic>_<isa>.c; cli includes nothing from outside but the C library, serve nothing but
#     that, libevent, zlib and zstd, python/src nothing but the C library and Python.h
#   - no file is longer than 1500 lines, and no two sources have the same name
#   - a name that crosses files (fw_…, FW_…, furrow_…, FURROW_…, fwpy_…, FWPY_…) is defined once
set -euo pipefail
cd "$(dirname "$0")/.."
all=$(tools/tree.sh files)
sources=$(grep -E '^(src|include|cli|serve|python/src)/.*\.(c|h|inc)$' <<<"$all")

# Shared by the scripts below: the tables of src/README.md.
#   modules: | `name` | what for | `module` … that it may include | `header.h` … of include/furrow |
#   subfolders: | `module/subfolder` | what for |, from the bottom to the top; `module/` is the folder of the module itself
tables='
  function read_tables(line, cell, list, count, i) {
    while ((getline line < "src/README.md") > 0) {
      if (line !~ /^\| *`[a-z0-9_\/]+` *\|/) continue
      split(line, cell, "|")
      gsub(/[ `]/, "", cell[2])
      if (cell[2] ~ /\//) {
        sub(/\/$/, "", cell[2])
        subfolders[cell[2]] = ++level
        continue
      }
      modules[cell[2]] = 1
      count = split(cell[4], list, "`")
      for (i = 2; i <= count; i += 2) may[cell[2], list[i]] = 1
      count = split(cell[5], list, "`")
      for (i = 2; i <= count; i += 2) owner[list[i]] = cell[2]
    }
    close("src/README.md")
    if (!("base" in modules)) print "src/README.md: found no table of modules"
  }'

check_folders() {
  awk -F/ "$tables"'
    BEGIN { read_tables() }
    {
      folder = $0
      sub(/\/?[^\/]*$/, "", folder)
      files[folder]++
      for (; folder != ""; sub(/\/?[^\/]*$/, "", folder)) folders[folder] = 1
      if (/\.(c|h|cc)$/) {
        if ($NF in seen) printf "%s: has the name of %s\n", $0, seen[$NF]
        seen[$NF] = $0
      }
    }
    END {
      for (folder in files) {
        data = folder ~ /^tests\/(.*\/)?(cases|corpus|crashes|golden|reject)(\/|$)/
        if (files[folder] > 40 && !data) printf "%s: %d files, more than 40\n", folder, files[folder]
      }
      for (folder in folders) {
        name = folder
        if (!sub(/^src\//, "", name) && name !~ /^(cli|serve)(\/|$)/ && !sub(/^tests\/unit\//, "", name)) continue
        if (!(name in modules) && !(name in subfolders))
          printf "%s: not listed in src/README.md\n", folder
      }
      for (name in subfolders)
        if (!(("src/" name) in folders) && !(name in folders) && !(("tests/unit/" name) in folders))
          printf "src/README.md: the subfolder %s does not exist\n", name
    }' <<<"$all" | LC_ALL=C sort
}

check_includes() {
  xargs awk "$tables"'
    function complain(text) {
      printf "%s:%d: %s\n", FILENAME, FNR, text
    }
    # src/kern/x/y.c -> kern, include/furrow/rows.h -> rows, cli/x/y.c -> cli, serve/x/y.c -> serve, python/src/y.c -> python
    function module_of(path, part) {
      split(path, part, "/")
      if (part[1] == "cli" || part[1] == "serve" || part[1] == "python") return part[1]
      return part[1] == "include" ? owner_of(part[3]) : part[2]
    }
    # The folder of a path as the table of subfolders spells it: src/kern/x/y.c -> kern/x, cli/core/y.c -> cli/core
    function subfolder_of(path) {
      sub(/^src\//, "", path)
      sub(/\/[^\/]*$/, "", path)
      return path
    }
    # A header of this module is in this subfolder or below it. A folder that is not listed has no order to keep.
    function check_order(path, own, other) {
      own = subfolder_of(FILENAME)
      other = subfolder_of(path)
      if (own == other || module_of(FILENAME) != module_of(path)) return
      if (!(own in subfolders) || !(other in subfolders)) complain(path ": src/README.md gives " own " or " other " no place in its module")
      else if (subfolders[other] > subfolders[own]) complain(own " may not include " path ", which is above it in src/README.md")
    }
    function owner_of(header) {
      return header in owner ? owner[header] : "the owner of furrow/" header
    }
    function check(header, quoted, part, other) {
      if (header == "mpi.h" && FILENAME != "src/comm/mpi_comm.c")
        complain("mpi.h: only src/comm/mpi_comm.c includes it, which is a shared object of its own")
      if (header ~ /^([a-z0-9]+intrin|arm_(neon|sve|acle))\.h$/ &&
          FILENAME !~ /^src\/kern\/([a-z0-9_]+\/)*[a-z0-9_]+_(avx2|avx512|neon)\.c$/)
        complain(header ": intrinsics belong in src/kern/<topic>_<isa>.c")
      split(header, part, "/")
      if (module == "python") {
        if (quoted && (header !~ /^py_[a-z0-9_]+\.h$/ || !(("python/src/" header) in exists)))
          complain(header ": not a header py_*.h of python/src")
        if (!quoted && header != "Python.h" && !(header in libc) && part[1] != "sys" &&
            !(part[1] == "furrow" && (part[2] in owner) && part[3] == ""))
          complain(header ": python/src includes only public headers, its own, Python.h and the C library")
      } else if (part[1] == "furrow" && part[3] == "") {
        if (!quoted) complain(header ": our own headers stand in quotes")
        other = owner_of(part[2])
        if (!(other in modules)) complain(header ": src/README.md gives it to no module")
        else if (other != module && !((module, other) in may) && !((module, "furrow") in may && part[2] in owner))
          complain(module " may not include " header ", which belongs to " other)
      } else if (module == "cli") {
        if (quoted && part[1] == "base") {
          if (!(("src/" header) in exists)) complain(header ": does not exist")
        } else if (quoted && !(("cli/" header) in exists)) {
          complain(header ": not a header of cli, written from cli")
        } else if (quoted) {
          check_order("cli/" header)
        }
        if (!quoted && !(header in libc) && part[1] != "sys")
          complain(header ": cli includes only furrow/*.h, base/*.h, its own headers and the C library")
      } else if (module == "serve") {
        if (quoted && part[1] == "base") {
          if (!(("src/" header) in exists)) complain(header ": does not exist")
        } else if (quoted && !(("serve/" header) in exists) && !(("cli/" header) in exists)) {
          complain(header ": not a header of serve or cli, written from there")
        } else if (quoted && ("serve/" header) in exists) {
          check_order("serve/" header)
        }
        if (!quoted && !(header in libc) && part[1] !~ /^(sys|netinet|arpa)$/ && header !~ /^(event2\/.*|zlib|zstd|netdb|malloc)\.h$/)
          complain(header ": serve includes only furrow/*.h, base/*.h, its own headers and cli headers, libevent, zlib, zstd and the C library")
      } else if (part[1] in modules) {
        if (!quoted) complain(header ": our own headers stand in quotes")
        if (FILENAME ~ /^include\//) complain(header ": a public header includes only public headers")
        else if (!(("src/" header) in exists)) complain(header ": does not exist")
        else if (part[1] != module && !((module, part[1]) in may)) complain(module " may not include " header)
        else check_order("src/" header)
      } else if (quoted) {
        complain(header ": not written as module/header.h")
      }
    }
    function end_of_file() {
      if (lines > 1500) printf "%s: %d lines, more than 1500\n", name, lines
    }
    BEGIN {
      split("assert ctype errno fcntl fenv float getopt glob inttypes limits locale malloc math poll pthread pwd sched setjmp " \
        "signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath time " \
        "uchar unistd wchar wctype dirent dlfcn ftw regex termios", list, " ")
      for (i in list) libc[list[i] ".h"] = 1
      for (i = 1; i < ARGC; i++) exists[ARGV[i]] = 1
      read_tables()
    }
    FNR == 1 {
      end_of_file()
      name = FILENAME
      module = module_of(FILENAME)
      if (!(module in modules)) complain(module " is not in the table of src/README.md")
    }
    { lines = FNR }
    (module == "cli" || module == "serve") && FILENAME !~ /^cli\/core\/(shown_text|output|progress|ranks)\.c$/ &&
    !/^ *(\/\*|\*|\.help)/ && /(^|[^a-z_])(printf|puts|putchar|vprintf|perror)\(|[(, ]std(out|err)[,;)]/ {
      complain("text for people goes through core/output.h (stdout) or say of core/shown_text.h (stderr)")
    }
    match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]*[">]/) {
      text = substr($0, RSTART, RLENGTH)
      header = text
      sub(/^[^"<]*["<]/, "", header)
      sub(/[">]$/, "", header)
      check(header, text ~ /"$/)
    }
    END { end_of_file() }' <<<"$sources"
}

# Definitions are found by how clang-format lays them out: what is defined begins in the first column, and what is inside
# of it does not. A declaration is not a definition, nor is a typedef of a struct by its own name. Both branches of an #if
# may define a name, so one file counts once. Macros that are undefined again are parameters of templates and lists.
check_names() {
  grep -vE '^(cli|serve)/' <<<"$sources" | xargs awk '
    function define(name, kind) {
      if (name !~ /^(fw|FW|furrow|FURROW|fwpy|FWPY)_/) return
      count++
      names[count] = name
      kinds[count] = kind
      places[count] = FILENAME ":" FNR
      files[count] = FILENAME
    }
    function last_word(text) {
      sub(/[^A-Za-z0-9_]*$/, "", text)
      sub(/.*[^A-Za-z0-9_]/, "", text)
      return text
    }
    # A, B = 1, C; LIST(X) is a list of others
    function enumerators(text, part, count, i) {
      sub(/^[^{]*\{/, "", text)
      sub(/}.*/, "", text)
      count = split(text, part, ",")
      for (i = 1; i <= count; i++)
        if (part[i] !~ /\(/ || part[i] ~ /=/) {
          sub(/=.*/, "", part[i])
          define(last_word(part[i]), "enumerator")
        }
    }
    # The declaration that begins in the first column, up to its { ; or =
    function declaration(text, name) {
      if (text ~ /^typedef /) {
        if (text ~ /^typedef (struct|union|enum)[^{;]*\{/) {
          tag = text
          sub(/ *\{.*/, "", tag)
          tag = tag ~ /^typedef (struct|union|enum)$/ ? "" : last_word(tag)
          define(tag, "type")
        } else if (text ~ /\(\*/) {
          name = text
          sub(/^[^(]*\(\*/, "", name)
          sub(/[^A-Za-z0-9_].*/, "", name)
          define(name, "type")
        } else if (text ~ /\(/) {
          sub(/\(.*/, "", text)
          define(last_word(text), "type")
        } else {
          name = text
          sub(/;.*/, "", name)
          name = last_word(name)
          if (text !~ ("(struct|union|enum) " name " ")) define(name, "type")
        }
      } else if (text ~ /^(struct|union|enum)( [A-Za-z0-9_]+)? *\{/) {
        sub(/ *\{.*/, "", text)
        tag = last_word(text)
        define(tag, "type")
      } else if (text ~ /^extern [^{]*$/ || text ~ /^(struct|union|enum) [A-Za-z0-9_]+;/) {
        return
      } else if (text ~ /\{/ && text ~ /\(/ && text !~ /=/) {
        sub(/\(.*/, "", text)
        define(last_word(text), "function")
      } else if (text !~ /\(/ || text ~ /^[^(]*=/) {
        sub(/[=;\[{].*/, "", text)
        define(last_word(text), "variable")
      }
    }
    FNR == 1 { pending = ""; in_enum = 0; comment = 0; macro = 0 }
    {
      line = $0
      # comments and strings go first
      gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
      if (comment) {
        if (!sub(/^.*\*\//, "", line)) next
        comment = 0
      }
      while (match(line, /\/\*([^*]|\*+[^*\/])*\*+\//)) line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
      sub(/\/\/.*/, "", line)
      if (sub(/\/\*.*/, "", line)) comment = 1
      sub(/[ \t]+$/, "", line)
    }
    macro { macro = line ~ /\\$/; next }
    line ~ /^[ \t]*#/ {
      macro = line ~ /\\$/
      if (match(line, /^[ \t]*#[ \t]*define[ \t]+[A-Za-z0-9_]+/)) {
        name = last_word(substr(line, RSTART, RLENGTH))
        if (name !~ /_H$/) define(name, "macro")
      } else if (match(line, /^[ \t]*#[ \t]*undef[ \t]+[A-Za-z0-9_]+/)) {
        undefined[last_word(substr(line, RSTART, RLENGTH))] = 1
      }
      next
    }
    pending == "" && line ~ /^}/ {
      in_enum = 0
      name = line
      sub(/;.*/, "", name)
      name = last_word(name)
      if (name != "" && name != tag) define(name, "type")
      next
    }
    in_enum { enumerators(line) }
    pending == "" && line !~ /^[A-Za-z_]/ { next }
    {
      pending = pending (pending == "" ? "" : " ") line
      if (line ~ /[{;=]/) {
        declaration(pending)
        if (pending ~ /^(typedef )?enum[^(]*\{$/) in_enum = 1
        else if (pending ~ /^(typedef )?enum[^(]*\{.*}/) enumerators(pending)
        pending = ""
      }
    }
    END {
      for (i = 1; i <= count; i++) {
        name = names[i]
        if (name in undefined) continue
        if (!(name in first)) first[name] = i
        else if (files[first[name]] != files[i] || kinds[first[name]] != kinds[i])
          printf "%s: %s (a %s) is also a %s, at %s\n", places[i], name, kinds[i], kinds[first[name]], places[first[name]]
      }
    }'
}

complaints=$(
  check_folders
  check_includes
  check_names
)
if [ -n "$complaints" ]; then
  echo "$complaints" >&2
  echo "layers: $(wc -l <<<"$complaints") complaints; src/README.md has the rules" >&2
  exit 1
fi
echo "layers: $(wc -l <<<"$sources") files keep to src/README.md"
