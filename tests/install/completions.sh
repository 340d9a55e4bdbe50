#!/usr/bin/env bash
# tests/install/completions.sh FURROW: what bash, zsh and fish offer at some words of the command. A shell that is not
# installed is skipped by name.
set -uo pipefail
furrow=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/data" "$work/data/model"
ln -s "$furrow" "$work/bin/furrow"
export PATH=$work/bin:$PATH LC_ALL=C HOME=$work XDG_CONFIG_HOME=$work
cd "$work/data" && touch train.libsvm
bad=0

# What each shell must offer, sorted: the words so far, with | between them, then the candidates.
cat >"$work/cases" <<'END'
ro => rows
rows|=> compare convert dump encode info schema split
rows|dump|--qui => --quiet
rows|dump|--index| => u32 u64
rows|dump|--index|u6 => u64
rows|dump|--threads| =>
rows|dump|--head|3|tr => train.libsvm
rows|dump|train.libsvm|--head|3|--hea =>
rows|dump|train.libsvm| =>
rows|convert|train.libsvm|tr => train.libsvm
train|--optim => --optimizer
train|--optimizer|Ada => AdaDelta AdaGrad Adam
train|--model|d => deepfm dnn
train|--format|lib => libffm libsvm
rows|dump|--format|d => dense dummy
completion| => bash fish zsh
help|rows|d => dump
nosuch|d =>
index|verify|--a => --allow-trailing
END

in_bash() {
  bash --norc --noprofile -c '
    source <(furrow completion bash)
    COMP_WORDS=(furrow "$@") COMP_CWORD=$# COMPREPLY=()
    _furrow 2>/dev/null
    printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}

in_zsh() {
  zsh -f -c '
    _describe() { local w; for w in "${(@P)4}"; do print -r -- "${w%%:*}"; done; }
    _files() { local w; for w in ${words[CURRENT]}*(N); do print -r -- $w; done; }
    compdef() { :; }
    source <(furrow completion zsh)
    words=(furrow "$@") CURRENT=$#words
    _furrow' - "$@"
}

in_fish() {
  local line="furrow $*"
  fish --no-config -c 'furrow completion fish | source; complete -C $argv' "$line" | cut -f 1 | sed 's,/$,,'
}

check() {
  local shell=$1 words candidates found failed=0 count=0
  while IFS= read -r line; do
    words=${line%%=>*} candidates=$(echo "${line#*=>}" | xargs)
    words=${words% }
    IFS='|' read -r -a list <<<"$words"
    [ "${words: -1}" != '|' ] || list+=("")
    found=$(in_$shell "${list[@]}" | sort -u | xargs)
    count=$((count + 1))
    [ "$found" = "$candidates" ] && continue
    echo "$shell: '$words' offers '$found', not '$candidates'"
    failed=1
  done <"$work/cases"
  [ $failed = 0 ] && echo "$shell: $count lines are completed as they should" || bad=1
}

for shell in bash zsh fish; do
  if command -v $shell >/dev/null; then check $shell; else echo "$shell: skipped, not installed"; fi
done

# --name=value is one word for zsh and fish, three for bash
[ "$(in_bash rows dump --index = u6)" = u64 ] || { echo "bash: --index=u6 is not completed" && bad=1; }
[ "$(furrow complete -- rows dump --index=u6 | cut -f 1)" = --index=u64 ] || { echo "--index=u6 is not completed" && bad=1; }
# the file that is installed registers itself with compinit
if command -v zsh >/dev/null; then
  mkdir "$work/functions" && furrow completion zsh >"$work/functions/_furrow"
  zsh -f -c 'fpath=($1 $fpath); autoload -Uz compinit; compinit -D -u; [[ $_comps[furrow] = _furrow ]]' - "$work/functions" ||
    { echo "zsh: compinit does not find the completion" && bad=1; }
fi
exit $bad
