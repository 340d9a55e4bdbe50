furrow model --help
for verb in info dump verify diff convert export import trees importance formats; do
  echo "---- $verb"
  furrow model $verb --help
done
