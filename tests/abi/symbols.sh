#!/bin/sh
# symbols.sh FOLDER LIBRARY: the library exports exactly the functions that the headers there declare.
set -eu
folder=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Declarations may be broken over lines: join them, then take the name in front of the parenthesis.
cat "$folder"/*.h | grep -v "^#" | tr '\n' ' ' | sed 's/CONVOY_API/\n&/g' |
  sed -n 's/^CONVOY_API [^(]*[ *]\(convoy_[a-z0-9_]*\)(.*/\1/p' | sort > "$work/declared"
nm --dynamic --defined-only "$library" | awk '$2 ~ /[A-Z]/ {print $3}' |
  sed 's/@.*//' | sort > "$work/exported"

test -s "$work/declared" || { echo "no declarations found in $folder"; exit 1; }
if ! diff "$work/declared" "$work/exported"; then
  echo "declared (<) and exported (>) functions differ"
  exit 1
fi
echo "$(wc -l < "$work/declared") functions declared and exported"
