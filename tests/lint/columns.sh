#!/bin/sh
# columns.sh ROOT: no line of code or of a comment has more than 100 columns, strings and what clang-format
# is told to leave alone included. Documents are for docs.sh.
set -eu
cd "$1"
folders='include src cl tools tests bench bindings examples nets scripts'
# shellcheck disable=SC2086 # one word per folder
files=$(find $folders \
  \( -name '*.[ch]' -o -name '*.cl' -o -name '*.py' \) -print | sort)
test -n "$files" || { echo "no sources under $1"; exit 1; }
# shellcheck disable=SC2086 # names without blanks
awk '
  FNR == 1 { count++ }
  length($0) > 100 { print FILENAME ":" FNR ": " length($0) " columns"; faults++ }
  END { print count " files, " faults + 0 " faults"; exit faults > 0 || count < 300 }
' $files
