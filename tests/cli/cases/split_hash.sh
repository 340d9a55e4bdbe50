# where a row goes is what docs/commands.md says
for ((i = 0; i < 2000; i++)); do echo "$i"; done >all.libsvm
furrow rows split all.libsvm --format libsvm --to libsvm --out s --fractions 0.7,0.2,0.1 --seed 42 >/dev/null
[ -x /usr/bin/python3 ] || exit 0
/usr/bin/python3 - <<'END'
M, g = 2**64 - 1, 0x9e3779b97f4a7c15
def mix(x):
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & M
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & M
    return x ^ (x >> 31)
files = [set(open('s.%s.libsvm' % name).read().split()) for name in ('train', 'valid', 'test')]
for r in range(2000):
    u = mix((mix(42 + g & M) + (r + 1) * g) & M) / 2**64
    wanted = 0 if u < 0.7 else 1 if u < 0.7 + 0.2 else 2
    if str(r) not in files[wanted]:
        print('row', r, 'is not in file', wanted)
END
