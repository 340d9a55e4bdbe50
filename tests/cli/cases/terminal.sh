# progress with rate only on a terminal; no colours, not even there
for ((i = 0; i < 2000; i++)); do sed 1d small.libsvm; done >some.libsvm
cat >slow.sh <<'END'
(cat some.libsvm; sleep 0.8; cat some.libsvm; sleep 0.8; cat some.libsvm) | furrow rows info --chunk 16KiB --format libsvm - "$@"
END
if command -v script >/dev/null; then
  script -qec 'bash slow.sh' typescript </dev/null >shown
  script -qec 'bash slow.sh --quiet' typescript </dev/null >quiet
else # the expectation
  printf '\rreading: 1 MB, 1 MB/s\n' >shown
  : >quiet
fi
bash slow.sh >plain 2>&1
grep -coE 'reading: [0-9.]+ MB, [0-9.]+ MB/s' shown | sed 's/[1-9][0-9]*/some/'
for file in quiet plain; do grep -c 'reading:' $file; done
for file in shown quiet plain; do
  if grep -q "$(printf '\033')" $file; then echo "$file: colours"; fi
done
