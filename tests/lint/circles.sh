#!/bin/sh
# circles.sh ROOT: files of src/core call each other downwards only, and so do its headers include each
# other. A file is above those whose functions it calls; none may be above itself. The one exception: to
# fetch a value may mean to compute it in pieces, each of which is fetched.
set -eu
cd "$1"
exception='src/core/exec/low_memory.c src/core/exec/values.c'
sources=$(find src/core -name '*.c' | sort)
headers=$(cd src && find core -name '*.h' | sort)

# Pairs of files, for each name of a function that is defined in another file of src/core. A definition
# is a line that begins with a letter, is not static and does not end in ";", as .clang-format writes it.
calls() {
  # shellcheck disable=SC2086 # names without blanks
  awk '
    /^\/\*/ { comment = 1 }
    comment { if (/\*\//) comment = 0; next }
    { sub(/\/\*.*/, "") }
    definitions && /^[a-z].*cvy_[a-z0-9_]+\(/ && !/^static / && !/;$/ {
      match($0, /cvy_[a-z0-9_]+\(/)
      home[substr($0, RSTART, RLENGTH - 1)] = FILENAME
    }
    definitions { next }
    {
      while (match($0, /cvy_[a-z0-9_]+/)) {
        name = substr($0, RSTART, RLENGTH)
        $0 = substr($0, RSTART + RLENGTH)
        if (name in home && home[name] != FILENAME) print FILENAME, home[name]
      }
    }
  ' definitions=1 $sources definitions=0 $sources | sort -u
}

includes() {
  for header in $headers; do
    sed -n 's|^#include "\(core/[^"]*\)".*|\1|p' "src/$header" | sed "s|^|$header |"
  done
}

faults=0
check() { # what: pairs on the standard input
  tsort > /dev/null 2> "$found" && return
  echo "$1 in a circle:"
  sed -n 's/^tsort: \([^-].*\)/  \1/p' "$found" | sort -u
  faults=$((faults + 1))
}

found=$(mktemp)
pairs=$(mktemp)
trap 'rm -f "$found" "$pairs"' EXIT
calls > "$pairs"
count=$(wc -l < "$pairs")
test "$count" -gt 50 || { echo "only $count calls between files found under $1"; exit 1; }
grep -qxF "$exception" "$pairs" || { echo "the exception is none any more: $exception"; exit 1; }
grep -vxF "$exception" "$pairs" > "$found.calls" && mv "$found.calls" "$pairs"
check 'calls between files' < "$pairs"
includes > "$pairs"
check 'headers that include each other' < "$pairs"
echo "$count pairs of files that call, $(wc -l < "$pairs") of headers, $faults circles"
test "$faults" -eq 0
