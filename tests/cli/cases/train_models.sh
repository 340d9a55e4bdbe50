# every algorithm: what it writes, and that it has learned; the truth: features of 1 … 12 and of 13 … 24 that are both
# odd, or both even, make a 1
samples() {
  awk -v rows="$1" -v r="$2" 'BEGIN {
    for (i = 0; i < rows; i++) {
      r = r * 16807 % 2147483647; a = int(r / 65536) % 12
      r = r * 16807 % 2147483647; b = int(r / 65536) % 12
      print ((a + b) % 2 ? 0 : 1), a + 1 ":1", b + 13 ":1"
    }
  }'
}
samples 3000 1 >train.libsvm
samples 500 77 >test.libsvm
# its two features as a class: 0 … 3
awk '{ split($2, a, ":"); split($3, b, ":"); $1 = a[1] % 2 + 2 * (b[1] % 2); print }' train.libsvm >classes.libsvm
# a number that follows from its features
awk '{ split($2, a, ":"); split($3, b, ":"); $1 = a[1] - b[1] / 2; print }' train.libsvm >numbers.libsvm

# says whether a figure of the evaluation is on the right side of a limit
judge() { # MODEL DATA FIGURE OPERATOR LIMIT
  furrow eval --model "$1" --data "$2" --bins 0 | awk -v what="$3" -v op="$4" -v limit="$5" -v model="$1" '
    $1 == what { found = 1; if (op == "<" ? $2 < limit : $2 > limit) print model ": " what " " op " " limit; else print model ": " what " is " $2 }
    END { if (!found) print model ": no " what }'
}
train() { # MODEL DATA OPTIONS…
  local model=$1 data=$2
  shift 2
  furrow train -q --defaults angel --model "$model" --train "$data" --out "$model" --range 24 "$@"
}
deep="--fields 2 --rank 4 --fc 16,8 --optimizer adam --lr 0.01 --epochs 12 --init-embedding 0.3 --decay ConstantLearningRate"
train lr train.libsvm --epochs 2
train svm train.libsvm --epochs 2 --lr 0.1
train linear numbers.libsvm --epochs 30 --lr 0.5
train robust numbers.libsvm --epochs 30 --lr 0.5
train softmax classes.libsvm --classes 4 --epochs 5
train mlr train.libsvm --epochs 40 --init-input 0.5 --optimizer adam --lr 0.05 --decay ConstantLearningRate
train fm train.libsvm --rank 4 --epochs 10 --optimizer adam --lr 0.05 --init-embedding 0.3
train dnn train.libsvm --input-width 16 --fc 8 --epochs 12 --optimizer adam --lr 0.01 --init-input 0.3 --decay ConstantLearningRate
for model in wide_and_deep deepfm pnn; do train $model train.libsvm $deep; done
train nfm train.libsvm --rank 8 --fc 16,8 --optimizer adam --lr 0.01 --epochs 12 --init-embedding 0.3 --decay ConstantLearningRate

judge lr test.libsvm accuracy "<" 0.65
judge svm test.libsvm accuracy "<" 0.65
judge linear numbers.libsvm rmse "<" 0.1
judge robust numbers.libsvm mae "<" 0.1
judge softmax classes.libsvm accuracy ">" 0.99
for model in mlr fm dnn wide_and_deep deepfm pnn nfm; do judge $model test.libsvm accuracy ">" 0.95; done
for model in lr softmax mlr fm dnn wide_and_deep deepfm pnn nfm; do echo "$model:" $(ls $model); done
furrow model info deepfm --no-stats | awk 'NR > 3 { print $1, $2, $3, $4, $5, $6, $7, $8 }'
