#!/bin/sh
# header.sh ROOT: the header is the manual, so every CONVOY_API function stands under a comment. A
# function directly below another shares its comment.
set -eu
awk '
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

# Reports name the settings they were made under: the tool knows each variable of the header's table.
unknown=0
for name in $(sed -n '/field  *environment/,/is a GPU through/p' "$1/include/convoy/convoy.h" |
  grep -oE 'CONVOY_[A-Z_]+' | sort -u); do
  grep -q "\"$name\"" "$1/tools/common/machine.c" || { echo "tools/common/machine.c lacks $name"; unknown=1; }
done
exit "$unknown"
