# a small compressed file with one enormous line: furrow info unpacks no more than --max-line
{ printf '1 1:1'; head -c 24000000 /dev/zero | tr '\0' ' '; echo; } | gzip -1 >bomb.gz
try furrow info bomb.gz
furrow info --max-line 32MiB bomb.gz | sed -n '/^kind/p; /^rows/p'
