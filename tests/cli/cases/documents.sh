# the examples of all documents print what the documents say
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
pages=$("$root/tools/tree.sh" files | grep '\.md$' | sed "s,^,$root/,")
if found=$(bash "$root/tests/docs/check_examples.sh" $pages); then
  echo "every page is as it says"
else
  echo "$found" | grep -v '^ok - '
fi
