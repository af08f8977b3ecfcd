#!/bin/sh
# operations.sh ROOT: core and the worker know operations by their rows, none by name. No file of theirs,
# nor backend.h and command.h, includes a family's header, uses a function, number or attribute of a family, or what the
# public header has for convolutions alone. Families are the folders of src/problem. There are no exceptions.
set -eu
cd "$1"
families=$(find src/problem -mindepth 1 -maxdepth 1 -type d -exec basename {} \; | sort)
test -n "$families" || { echo "no families under $1/src/problem"; exit 1; }

public='CONVOY_(FORWARD|BACKWARD|DIRECTIONS|IDENTITY|RELU|LEAKY)|\bconvoy_(direction|conv|epilogue)\b'
pattern="$public|\bcvy_reduce_|\bCVY_REDUCE\b"
for family in $families; do
  upper=$(echo "$family" | tr '[:lower:]' '[:upper:]')
  pattern="$pattern|problem/$family/|\bcvy_${family}_|\bCVY_${upper}(_|\b)|(\.|->)$family\b|, $family\)"
done

found=$(grep -rnE "$pattern" src/core src/worker src/backend.h src/command.h || true)
if [ -n "$found" ]; then
  echo "core and worker read the operation's row; these name an operation:"
  echo "$found"
  exit 1
fi
# The pattern finds what it is for.
grep -qE "$pattern" src/api_conv.c || { echo "the pattern finds nothing in src/api_conv.c"; exit 1; }
echo "$(echo "$families" | wc -w) families, 0 faults"
