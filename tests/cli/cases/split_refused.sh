for fractions in 0.5,0.4 1.5,-0.5 0.5,x 0.5,,0.5 0,1 ''; do
  try furrow rows split small.libsvm --out a --fractions "$fractions"
done
try furrow rows split small.libsvm --out a --fractions 0.5,0.5 --names one
try furrow rows split small.libsvm --out a --fractions 0.5,0.5 --names one,one
try furrow rows split small.libsvm --out a --fractions 0.5,0.5 --names one,t/o
try furrow rows split small.libsvm --out '' --fractions 0.5,0.5
try furrow rows split - --out a --fractions 0.5,0.5 --to csv <small.libsvm
ls a* 2>/dev/null
# all files or none
try furrow rows split bad.libsvm --out new/ --fractions 0.5,0.5
[ -e new ] && echo "the folder is still there"
mkdir have
echo mine >have/test.libsvm
try furrow rows split small.libsvm --out have --fractions 0.5,0.5
try furrow rows split bad.libsvm --out have --fractions 0.5,0.5 --force
cat have/*
ls -A have
furrow rows split small.libsvm --out have --fractions 0.5,0.5 --force
ls -A have
