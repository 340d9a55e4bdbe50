# a training that is killed again and again, and resumed, ends with the model of one that was not: byte for byte, for
# any number of threads
awk 'BEGIN { r = 5; for (i = 0; i < 8000; i++) { r = r * 16807 % 2147483647; a = int(r / 65536) % 500; b = int(r / 64) % 500; print (a * b % 3 ? 0 : 1), a + 1 ":1", b + 501 ":1" } }' >t.libsvm
killed() { # NAME THREADS OPTIONS…: kills it as soon as there is a new checkpoint, or some time later
  local name=$1 threads=$2 run stopped=0
  shift 2
  # one that comes to its end before it is killed, on a busy machine, begins anew
  local again=0 train=(furrow train -q "$@" --train t.libsvm --out "$name" --checkpoint "kept_$name" --resume)
  for ((run = 1; run <= 5; run++)); do
    : >mark
    "${train[@]}" --threads "$threads" 2>>err &
    for ((i = 0; i < 12000; i++)); do
      [ "kept_$name/checkpoint" -nt mark ] && break
      kill -0 $! 2>/dev/null || break
      sleep 0.01
    done
    [ $run -eq 1 ] || sleep "0.0$((RANDOM % 10))"
    kill -KILL $! 2>/dev/null
    wait $! 2>/dev/null
    if [ -e "$name" ] && [ $stopped -eq 0 ] && [ $((again++)) -lt 20 ]; then
      rm -rf "$name" "kept_$name"
      run=0
      continue
    fi
    [ ! -e "$name" ] || break
    threads=$((3 - threads))
    stopped=$((stopped + 1))
  done
  [ $stopped -gt 0 ] || echo "$name: came to its end"
  [ -e "kept_$name/checkpoint" ] || echo "$name: there is no checkpoint"
  [ -e "$name" ] || "${train[@]}" --threads "$threads"
  ls -A "kept_$name"
}
check() { # NAME OPTIONS…
  local name=$1
  shift
  killed "$name" 1 "$@"
  furrow train -q "$@" --train t.libsvm --out "straight_$name" --threads 2
  diff -r "$name" "straight_$name" && echo "$name: the same"
}
check fm --model fm --rank 4 --epochs 40 --shuffle yes --optimizer adam --lr 0.01
check deepfm --model deepfm --fields 2 --rank 4 --fc 16,8 --epochs 12 --optimizer momentum --lr 0.01 --sample-ratio 0.7 --decay-on-batch yes
check best --model lr --epochs 40 --lr 2 --keep-best --metric auc --model-type T_DOUBLE_SPARSE --optimizer ftrl
