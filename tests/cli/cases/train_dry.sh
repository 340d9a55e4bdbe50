# what would be trained
furrow train --defaults angel --model deepfm --fields 4 --rank 2 --fc 5,3 --range 100 --dry-run
furrow train --defaults angel --model fm --dry-run
furrow train --defaults angel --model softmax --classes 3 --range 10 --dry-run --json
furrow train --defaults angel --model lr --range 10 --dry-run --dot g.dot --svg g.svg | head -n 1
head -n 1 g.dot
head -c 4 g.svg && echo
try furrow train --defaults angel --model lr --range 10 --dry-run --dot g.dot
