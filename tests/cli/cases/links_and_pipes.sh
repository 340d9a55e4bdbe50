# a pipe is no cache; links lead neither out of a model folder nor to what another user wants written
mkfifo pipe
printf '1 1:1\n0 2:1\n' >a.libsvm
try timeout -k 1 20 furrow rows info --api iter 'a.libsvm#pipe'

printf '0\t1\t0.5\n0\t2\t1.5\n' >m.tsv
furrow model import m.tsv m --row-type T_FLOAT_SPARSE -q >/dev/null
echo mine >secret; chmod 600 secret
ln -s ../secret m/note
try furrow model convert m n -q
ls n 2>&1 | sed 's/.*: //'
rm m/note; cp -p secret m/note
ln -s note m/again # within the folder
furrow model convert m n -q >/dev/null
stat -c '%n %a' n/note n/again

mkdir shared; chmod 1777 shared
ln -s "$PWD/precious" shared/out.libsvm
if [ "$(id -u)" = 0 ] && chown -h 65534 shared/out.libsvm 2>/dev/null; then
  try furrow rows convert a.libsvm shared/out.libsvm 2>&1
else # the expectation
  printf 'furrow: shared/out.libsvm: a link that another user made: Permission denied\nexit 4\n'
fi
ls precious 2>&1 | sed 's/.*: //'
rm -f shared/out.libsvm; ln -s "$PWD/precious" shared/out.libsvm
furrow rows convert a.libsvm shared/out.libsvm -q >/dev/null; cat precious
