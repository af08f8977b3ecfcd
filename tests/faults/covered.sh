#!/bin/sh
# covered.sh LAYER MODULE: the fault layer must have every OpenCL function that the engine's module
# and CLBlast, which it links, call.
set -eu
imports() { nm -D --undefined-only "$1" | sed -n 's/.* \(cl[A-Z][A-Za-z]*\)\(@.*\)\{0,1\}$/\1/p'; }

clblast=$(ldd "$2" | sed -n 's/.*libclblast[^ ]* => \([^ ]*\) .*/\1/p')
wanted=$( (imports "$2"; [ -z "$clblast" ] || imports "$clblast") | sort -u)
count=$(echo "$wanted" | wc -l)
[ "$count" -ge 25 ] || { echo "only $count OpenCL functions found in $2"; exit 1; }
missing=
for name in $wanted; do
  tr '\0' '\n' < "$1" | grep -qaxF "$name" || missing="$missing $name"
done
[ -z "$missing" ] || { echo "the layer lacks$missing"; exit 1; }
echo "$count functions, all covered"
