#!/usr/bin/env bash
# tests/install/hardening.sh FILE …: reads programs and shared objects as they were built: position-independent; all relocations
# done and read-only before they run; no stack that can be executed, no memory both writable and executable; no folder of
# libraries in them (RUNPATH); the C library's checked functions; canaries behind arrays; for x86-64, code that is
# compiled for control-flow enforcement (whether a program asks for it depends on the start-up code of the system). Large frames must touch each page of the stack: that is looked for in the largest file, which has some.
set -u
bad=0
complain() {
  echo "$file: $*" >&2
  bad=1
}

# has PATTERN WORDS …: the file's headers, sections and dynamic section (facts) have a line with the pattern
has() {
  grep -qE -- "$1" <<<"$facts"
}

check() {
  facts=$(LC_ALL=C readelf -hldW "$file") || { complain "is not a program or a shared object"; return; }
  symbols=$(nm -D --undefined-only "$file")
  has '^ *Type: +DYN' || complain "is not position-independent"
  has '^ *GNU_RELRO' || complain "has no relocations that become read-only"
  has '\(FLAGS(_1)?\).*(BIND_)?NOW' || complain "binds functions when they are called first"
  has '^ *GNU_STACK .* RW +0x' || complain "has a stack that can be executed"
  ! has '^ *LOAD .* RWE ' || complain "has memory that is both writable and executable"
  ! has '\(TEXTREL\)' || complain "has relocations in its code"
  ! has '\((RUNPATH|RPATH)\)' || complain "names folders of libraries: $(grep -E '(RUNPATH|RPATH)' <<<"$facts")"
  grep -qE ' __stack_chk_fail(@|$)' <<<"$symbols" || complain "has no canaries behind arrays"
  grep -qE ' __[a-z0-9_]+_chk(@|$)' <<<"$symbols" || complain "calls none of the C library's checked functions"
}

# code_has COUNT PATTERN: so many instructions of the file's code match; objdump is not read to its end
code_has() {
  [ "$(objdump -d --no-show-raw-insn "$file" 2>/dev/null | grep -m "$1" -cE -- "$2")" = "$1" ]
}

largest=$(stat -Lc '%s %n' "$@" | sort -n | tail -n 1 | cut -d ' ' -f 2-)
for file in "$@"; do
  check
  grep -qE '^ *Machine: .*X86-64' <<<"$facts" || continue
  code_has 10 $'\tendbr64' || complain "is not compiled for control-flow enforcement (no endbr64)"
  [ "$file" != "$largest" ] || code_has 1 $'\torq +\\$0x0,\\(%rsp\\)' || complain "does not touch the pages of large frames"
done
[ $bad = 0 ] && echo "$# files are hardened"
exit $bad
