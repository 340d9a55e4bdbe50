# what the command refuses before it starts furrow-serve, and a guess at its page
try furrow serve --modle ctr=ctr.model
try furrow serve --model
try furrow serve --max-body many --model ctr=ctr.model
try furrow serve --max-rows -1 --model ctr=ctr.model
try furrow serve --timeout soon --model ctr=ctr.model
try furrow serve --model ctr=ctr.model items.index
try furrow man serve
