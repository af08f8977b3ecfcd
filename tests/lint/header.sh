#!/bin/sh
# header.sh ROOT: the public headers are the manual, so every CONVOY_API function stands under a comment.
# A function directly below another shares its comment. convoy.h includes all others, and all are listed in
# its first paragraph.
set -eu
awk '
  FNR == 1 { documented = in_declaration = 0 }
  /^CONVOY_API/ && /\(/ {
    functions++
    if (!documented) { print FILENAME ":" FNR ": no comment above: " $0; faults++ }
    in_declaration = 1
  }
  in_declaration { if (/;/) in_declaration = 0; next }
  /\*\/ *$/ { documented = 1; next }
  /^ *\*/ || /^ *\/\*/ || /^typedef .*;$/ { next } # a callback type may stand between
  { documented = 0 }
  END { print functions " functions, " faults + 0 " faults"; exit faults > 0 || functions < 10 }
' "$1"/include/convoy/*.h

for header in "$1"/include/convoy/*.h; do
  name=${header##*/}
  test "$name" != convoy.h || continue
  grep -q "^#include \"convoy/$name\"" "$1/include/convoy/convoy.h" &&
    sed '/^#ifndef/q' "$1/include/convoy/convoy.h" | grep -qw "$name" ||
    { echo "convoy.h does not include $name, or does not name it at its top"; exit 1; }
done

# Reports name the settings they were made under: the tool knows each variable of the header's table.
unknown=0
for name in $(sed -n '/field  *environment/,/is a GPU through/p' "$1/include/convoy/convoy.h" |
  grep -oE 'CONVOY_[A-Z_]+' | sort -u); do
  grep -q "\"$name\"" "$1/tools/common/machine.c" || { echo "tools/common/machine.c lacks $name"; unknown=1; }
done
exit "$unknown"
