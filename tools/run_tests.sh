#!/usr/bin/env bash
# tools/run_tests.sh BUILD [JOBS [OPTION of ctest …]]: runs the tests of a build. Ends with what was skipped and one line of counts, which
# BUILD/test_counts keeps ("passed failed skipped").
#
# With FURROW_AGAIN=1, tests that failed are run once more, one at a time, to tell what is broken from what a busy machine
# disturbs. A test that passes then is named as unsteady, after what it printed. What a sanitizer has found is never asked again.
set -uo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
build=$1
jobs=${2:-2}
log=$build/test_output.log
again=$build/test_again.log
rm -f "$build/test_counts"

# ThreadSanitizer of gcc 12 and clang 14 does not work with the address randomisation of newer kernels.
fixed=()
if grep -q '^FURROW_SANITIZE:.*thread' "$build/CMakeCache.txt" && setarch -R true 2>/dev/null; then fixed=(setarch -R); fi

run() {
  (cd "$build" && "${fixed[@]}" ctest --output-on-failure "$@") 2>&1
}
run -j "$jobs" "${@:3}" | tee "$log"
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

if [ "$failed" -gt 0 ] && [ "${FURROW_AGAIN:-}" = 1 ] && ! grep -qE 'Sanitizer:|: runtime error: ' "$log"; then
  names=$(awk '/Test +#.*\*\*\*/ && !/\*\*\*Skipped/ { print $4 }' "$log")
  run --rerun-failed "${@:3}" | tee "$again"
  result=${PIPESTATUS[0]}
  for name in $names; do
    if grep -qE "Test +#[0-9]+: $name \.+ +Passed" "$again"; then echo "unsteady: $name" && failed=$((failed - 1)); fi
  done
fi

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
