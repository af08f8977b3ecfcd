#!/bin/sh
# environment.sh ROOT: src reads the environment through cvy_env alone, which heeds whose it is.
set -eu
cd "$1"
pattern='\b(secure_)?getenv *\('
found=$(grep -rnE "$pattern" src | grep -v '^src/base/env\.c:' || true)
if [ -n "$found" ]; then
  echo "the environment of a privileged program is its caller's, so only cvy_env reads it:"
  echo "$found"
  exit 1
fi
# The pattern finds what it is for.
grep -qE "$pattern" src/base/env.c || { echo "the pattern finds nothing in src/base/env.c"; exit 1; }
