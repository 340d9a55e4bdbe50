# a file of a model that is missing, a folder or a link that leads nowhere: no command takes the rest for the whole model
for ((i = 0; i < 50; i++)); do sed 1d small.libsvm; done >part.libsvm
furrow train -q --model fm --rank 2 --train part.libsvm --index-base 0 --epochs 1 --out fm
furrow train -q --model fm --rank 2 --train events.csv --schema auto --epochs 1 --out log
# odd MODEL ROWS COMMAND…: what the commands say of a copy that the command has changed
odd() {
  local model=$1 rows=$2
  shift 2
  echo "- $*"
  rm -rf m n
  cp -r "$model" m
  (cd m && "$@")
  for command in predict info verify convert; do
    case $command in
    predict) furrow predict --model m --data "$rows" >out 2>err ;;
    convert) furrow model convert m n -q >out 2>err ;;
    *) furrow model $command m >out 2>err ;;
    esac
    echo "$command: exit $?"
    sed 's/^furrow: //' err
    [ $command != verify ] || grep -v ': ok$' out
  done
}
instead() { # rm NAME, then the command
  rm -r "$1"
  "${@:2}"
}
odd fm part.libsvm true
for name in furrow.json graph.json; do
  odd fm part.libsvm ln -sf nowhere $name
  odd fm part.libsvm instead $name mkdir $name
done
odd fm part.libsvm rm furrow.json # as Angel's models are
odd fm part.libsvm rm input_weight/_meta
odd fm part.libsvm rm -r input_weight
odd fm part.libsvm instead input_weight touch input_weight
odd log events.csv true
for name in schema.json dictionary.furrow; do
  odd log events.csv rm $name
  odd log events.csv ln -sf ../nowhere $name
  odd log events.csv instead $name mkdir $name
done
# without graph.json, data without metadata is found all the same
rm fm/graph.json fm/input_weight/_meta
try furrow model verify fm
try furrow model verify fm --json | grep -c 'the folder has no metadata'
