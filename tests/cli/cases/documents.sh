# the examples of the documents print what the documents say
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
if found=$(bash "$root/tests/docs/check_examples.sh" "$root/README.md" "$root"/docs/*.md "$root"/docs/*/*.md); then
  echo "every page is as it says"
else
  echo "$found" | grep -v '^ok - '
fi
