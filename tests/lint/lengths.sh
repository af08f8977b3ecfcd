#!/bin/sh
# lengths.sh ROOT: no function above 80 lines, no source file above 500; the public header, which is the
# manual, may have 800. A function is taken to begin
# at a line that starts with a letter and ends in "{", as .clang-format writes it.
set -eu
cd "$1"
files=$(find src include cl tools tests examples -name '*.[ch]' -o -name '*.cl' | sort)
test -n "$files" || { echo "no sources under $1"; exit 1; }
# shellcheck disable=SC2086 # names without blanks
awk -v most_function=80 -v most_file=500 '
  FNR == 1 { inside = 0; most = FILENAME ~ /convoy\/convoy\.h$/ ? 800 : most_file }
  FNR == most + 1 { print FILENAME ": more than " most " lines"; faults++ }
  /^[A-Za-z_].*[)] *[{]$/ { inside = 1; start = FNR; name = $0 }
  /^[A-Za-z_].*[^) ] *[{]$/ { inside = 0 }
  /^[}]/ && inside {
    functions++
    if (FNR - start + 1 > most_function) {
      print FILENAME ":" start ": " FNR - start + 1 " lines: " name
      faults++
    }
    inside = 0
  }
  END { print functions " functions, " faults + 0 " faults"; exit faults > 0 || functions < 100 }
' $files
