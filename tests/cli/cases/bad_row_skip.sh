try furrow rows dump --on-bad skip bad.libsvm
try furrow rows dump --on-bad skip -q bad.libsvm
furrow rows info --on-bad=skip --json bad.libsvm | grep -E '"(rows|bad_rows)"'
furrow rows convert --on-bad=skip bad.libsvm good.libsvm
cat good.libsvm
