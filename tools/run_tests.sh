#!/usr/bin/env bash
# tools/run_tests.sh BUILD [JOBS [OPTION of ctest …]]: runs the tests of a build. Ends with what was skipped and one line of counts, which
# BUILD/test_counts keeps ("passed failed skipped").
set -uo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
build=$1
jobs=${2:-2}
log=$build/test_output.log
rm -f "$build/test_counts"

# ThreadSanitizer of gcc 12 and clang 14 does not work with the address randomisation of newer kernels.
fixed=()
if grep -q '^FURROW_SANITIZE:.*thread' "$build/CMakeCache.txt" && setarch -R true 2>/dev/null; then fixed=(setarch -R); fi

(cd "$build" && "${fixed[@]}" ctest --output-on-failure -j "$jobs" "${@:3}") 2>&1 | tee "$log"
result=${PIPESTATUS[0]}

# Tests of a program that skipped themselves: cmocka names them in the log of all output.
awk '/^[0-9]+\/[0-9]+ Test(ing)?: / { program = $NF }
     /^\[  SKIPPED \] / && $4 !~ /^[0-9]/ && $4 != "" { print "skipped in " program ": " $4 }' \
  "$build/Testing/Temporary/LastTest.log" 2>/dev/null | sort -u
FURROW_BUILD=$build "$tools/packages.sh" peers

read -r total failed skipped < <(awk '
  / tests? failed out of / { total = $NF; failed = $(NF - 5); skipped = 0; after = 1 }
  after && /\((Skipped|Disabled)\)$/ { skipped++ }
  END { print total + 0, failed + 0, skipped + 0 }' "$log")
if [ "$total" -eq 0 ]; then result=1; fi

# The end of what each failed test printed, once more: here it is found.
awk '/^ *[0-9]+\/[0-9]+ Test +#|^ +Start +[0-9]+: |^[0-9.]+% tests passed/ { show(); name = /\*\*\*/ && !/\*\*\*Skipped/ ? $0 : "" }
     name != "" { line[++count] = $0 }
     function show(i) {
       for (i = 1; i <= count; i++) if (i == 1 || i > count - 40) print line[i]
       count = 0
     }' "$log"
echo "$((total - failed - skipped)) $failed $skipped" >"$build/test_counts"
echo "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
exit "$result"
