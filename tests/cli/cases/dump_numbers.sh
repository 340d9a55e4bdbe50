# as printf writes %.9g, for floats of every size
echo 'nan,inf,-inf,-nan,0,-0' | furrow rows dump --format csv -
command -v awk >/dev/null || exit 0
awk 'function draw() { r = r * 16807 % 2147483647; return r / 2147483647 }
BEGIN {
  r = 7
  for (i = 0; i < 20000; i++) printf "0 1:%.9ge%d 2:%.7g 3:%d 4:%d.5\n", draw() * 20 - 10, int(draw() * 76) - 40, \
    draw() * 10 ^ int(draw() * 12 - 4), draw() * 2 ^ 31, draw() * 2 ^ 23
}' >many.libsvm
furrow rows dump many.libsvm >dumped
# what was printed reads back to the same floats, and prints the same
sed -E 's/ - - \|//; s/ -:/ /g' dumped | furrow rows dump - | cmp - dumped
# and it is what another printf makes of them
[ -x /usr/bin/python3 ] || exit 0
/usr/bin/python3 - <<'END'
import struct
def g9(text):
    try:
        return '%.9g' % struct.unpack('f', struct.pack('f', float(text)))[0]
    except OverflowError:
        return None
for text, line in zip(open('many.libsvm'), open('dumped')):
    wanted = [g9(t.split(':')[1]) for t in text.split()[1:]]
    found = [t.split(':')[2] for t in line.split()[4:]]
    if any(w is not None and w != f for w, f in zip(wanted, found)):
        print('differs:', text, line)
END
