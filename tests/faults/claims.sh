#!/bin/sh
# claims.sh ROOT: the tests that docs/failover.md names for its claims exist, each in a file of the row
# that names it or of the row before ("there").
set -eu
cd "$1"
files= missing=0 count=0
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
sed -n '/^| claim | test |/,$p' docs/failover.md | sed 1,2d > "$rows"
while IFS= read -r row; do
  words=$(echo "$row" | sed 's/^| [^|]* | //' | grep -o '`[^`]*`' | tr -d '`' | tr ' ' '\n')
  here=$(echo "$words" | grep '^[a-z]*/.*\.' || true)
  [ -z "$here" ] || files=$here
  for name in $(echo "$words" | grep -x '[a-z_0-9]*_[a-z_0-9]*' || true); do
    count=$((count + 1))
    # shellcheck disable=SC2086 # one word per file
    grep -qw "$name" $files tests/faults/CMakeLists.txt || { echo "no $name in $files"; missing=1; }
  done
done < "$rows"
[ "$count" -ge 20 ] || { echo "only $count tests named"; exit 1; }
echo "$count tests named"
exit $missing
