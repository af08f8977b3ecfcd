#!/bin/sh
# words.sh ROOT: comments of src and cl say who does a thing: neither "somebody" nor "whoever" nor "nobody". Sentences
# for users may have them. The files named here are to be rewritten; a name that is not needed is a fault, too.
set -eu
cd "$1"
still='src/worker/|src/core/exec/|src/backend\.h|src/core/graph/(planned|run_graph|steps|taps|planned_taps)\.'
still="$still|src/ocl/engine/(captured|commands|completion|device|run)\."

files=$(find src cl -name '*.[ch]' -o -name '*.cl' | sort)
test -n "$files" || { echo "no sources under $1"; exit 1; }
# shellcheck disable=SC2086 # names without blanks
found=$(awk '
  FNR == 1 { inside = 0 }
  {
    text = $0; comment = ""
    while (text != "") {
      if (inside) {
        at = index(text, "*/")
        comment = comment " " (at ? substr(text, 1, at - 1) : text)
        text = at ? substr(text, at + 2) : ""
        inside = !at
      } else {
        gsub(/"([^"\\]|\\.)*"/, "", text)
        at = match(text, /\/[*]/)
        text = at ? substr(text, at + 2) : ""
        inside = at > 0
      }
    }
    if (tolower(comment) ~ /(^|[^a-z])(somebody|whoever|nobody)([^a-z]|$)/) print FILENAME ":" FNR ":" comment
  }' $files)
faults=$(echo "$found" | grep -vE "^($still)" || true)
if [ -n "$faults" ]; then
  echo "comments that do not say who:"
  echo "$faults"
  exit 1
fi
for name in $(echo "$still" | sed 's/|\([^()]*\)/\n\1/g' | grep -vE '[()]'); do
  echo "$found" | grep -qE "^$name" || { echo "$name needs no exception"; exit 1; }
done
echo "$(echo "$files" | wc -w) files, 0 faults"
