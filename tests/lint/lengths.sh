#!/bin/sh
# lengths.sh ROOT: no function above 80 lines, no kernel above 100, no source file above 500; the public
# header, which is the manual, may have 1000. What begins in the first column is read as .clang-format
# writes it: a function's signature may take several lines, the last of which ends in "{", and its end is
# a "}" in the first column. What opens there and is neither function, type nor table is a fault, and so
# is text in the first column of a body: no function goes unseen.
set -eu
cd "$1"
files=$(find src include cl tools tests examples nets -name '*.[ch]' -o -name '*.cl' | sort)
test -n "$files" || { echo "no sources under $1"; exit 1; }
# shellcheck disable=SC2086 # names without blanks
awk -v most_function=80 -v most_kernel=100 -v most_file=500 '
  function fault(what) { print FILENAME ":" start ": " what; faults++ }
  function ends(    limit) { # a function that began at `start`
    limit = head ~ /^(__)?kernel / ? most_kernel : most_function
    functions++
    if (FNR - start + 1 > limit) fault(FNR - start + 1 " lines, at most " limit ": " head)
  }
  FNR == 1 {
    head = inside = ""; comment = directive = 0
    most = FILENAME ~ /convoy\/convoy\.h$/ ? 1000 : most_file
  }
  FNR == most + 1 { start = FNR; fault("more than " most " lines in the file") }
  directive || /^#/ { directive = /\\$/; next }
  inside && /^}/ {
    if (inside == "function") ends()
    head = inside == "type" && !/;$/ ? "the table = of this type" : ""
    inside = ""
    next
  }
  inside {
    if (/^[A-Za-z_]/ && !/^[A-Za-z_0-9]+:/) { start = FNR; fault("in the first column of a body: " $0) }
    next
  }
  { # outside of bodies, without strings and comments
    gsub(/"([^"\\]|\\.)*"/, "\"\"")
    if (comment && !sub(/^.*[*]\//, "")) next
    comment = 0
    gsub(/\/[*]([^*]|[*]+[^*\/])*[*]+\//, "")
    comment = sub(/\/[*].*/, "")
    sub(/\/\/.*/, ""); sub(/[ \t]+$/, "")
  }
  /^[ \t]*$/ { next }
  head == "" { start = FNR }
  { head = head == "" ? $0 : head " " $0 }
  head ~ /^extern "" [{]$/ || head == "}" { head = ""; next }
  /;$/ { head = ""; next }
  head ~ /[^=!<>]=[^=]/ || head ~ /=$/ { next } # a table, up to its semicolon
  /[{]$/ {
    if (head ~ /^(typedef |static |const )*(struct|union|enum)[ A-Za-z0-9_]*[{]$/) inside = "type"
    else if (head ~ /[)] *[{]$/) inside = "function"
    else fault("neither function, type nor table: " head)
  }
  /[}]$/ { ends(); head = "" } # all of it in a line
  END { print functions " functions, " faults + 0 " faults"; exit faults > 0 || functions < 100 }
' $files
