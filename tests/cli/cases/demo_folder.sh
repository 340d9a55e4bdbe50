# where furrow demo may write: a new folder, an empty one, its own; anything else when told so
tiny="--rows 2000 --users 20 --items 100 -q"
mkdir empty other && echo mine >other/mine && echo file >file
try furrow demo $tiny --out empty
echo old >empty/nearest.txt && mkdir empty/fm.model/mine
try furrow demo $tiny --out empty
ls -d empty/fm.model/mine 2>/dev/null
wc -l <empty/nearest.txt | tr -d ' '
try furrow demo $tiny --out other
ls other
try furrow demo $tiny --out other --force
cat other/mine && ls other/report.html
try furrow demo $tiny --out file
try furrow demo $tiny --out nowhere/deep
try furrow demo --rows 10
try furrow demo --items 10
try furrow demo --users 1
try furrow demo --rows 2000 --users 101
try furrow demo word
ls -d furrow-demo 2>/dev/null
furrow demo --rows 2000 --users 20 --items 100 --out "with blank" | head -n 1
