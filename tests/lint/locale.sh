#!/bin/sh
# locale.sh ROOT: what the library reads and writes is the same whatever its program has told setlocale.
# Numbers with a point go through cvy_print, cvy_double and cvy_float (src/base/number.c), which all sentences
# and log lines do; letters and digits are those of ASCII (src/base/ascii.c, cvy_is_digit). What is left out is
# a program that the build runs, in the locale C.
set -eu
cd "$1"
files=$(find src -name '*.[ch]' ! -path src/cpu/program/generate.c | sort)
test -n "$files" || { echo "no sources under $1"; exit 1; }
# shellcheck disable=SC2086 # names without blanks
awk '
  function fault(what) { print FILENAME ":" FNR ": " what; faults++ }
  BEGIN {
    before = "(^|[^A-Za-z0-9_])"
    numbers = before "(strto(d|f|ld|d_l|f_l|ld_l)|atof|v[sfdn]*(printf|scanf)|setlocale|uselocale|strfromd) *[(]"
    letters = before "(is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)" \
      "|to(lower|upper)|str(n?casecmp|casestr|coll|xfrm|ftime)) *[(]"
    formats = before "(as|s|sn|f|d)?(printf|scanf) *[(]"
    point = "%[-+ #0-9.*l'\'']*[aAeEfFgG]"
  }
  FNR == 1 { count++; call = "" }
  $0 ~ numbers && FILENAME != "src/base/number.c" { fault("depends on the locale: " $0) }
  $0 ~ letters { fault("depends on the locale: " $0) }
  call != "" || $0 ~ formats { # up to the end of the statement
    call = call $0
    if ($0 !~ /;/) next
    if (call ~ point) fault("a number with a point, which cvy_text_add writes in any locale: " call)
    call = ""
  }
  END { print count " files, " faults + 0 " faults"; exit faults > 0 || count < 300 }
' $files
