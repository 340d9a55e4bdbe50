# every command: its help begins with examples, whose options it has; it takes -q, -v and --help
commands() {
  furrow "$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}
check() {
  furrow "$@" --help >help || echo "$*: no help"
  furrow help "$@" | cmp -s - help || echo "$*: 'furrow help $*' says something else"
  head -n 1 help | grep -qE '^Examples?:$' || echo "$*: the help does not begin with an example"
  grep -q "^Usage: furrow${*:+ }$*" help || echo "$*: no usage"
  sed -n '2,/^$/p' help | grep "furrow $*" | grep -oE ' --[a-z0-9-]+' | sort -u >options
  [ -z "$(commands "$@")" ] || : >options
  while read -r option; do
    grep -qE "^ +(-[A-Za-z], )?$option( |$)" help || echo "$*: $option of the example is no option"
  done <options
  for option in '-q, --quiet' '-v, --verbose' '-h, --help'; do
    [ -n "$(commands "$@")" ] || grep -q -e "^  $option" help || echo "$*: no $option"
  done
}
check
for noun in $(commands); do
  check "$noun"
  for verb in $(commands "$noun"); do
    check "$noun" "$verb"
    echo "$noun $verb"
  done
done
