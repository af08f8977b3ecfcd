#!/bin/sh
# tracked.sh ROOT: git keeps text of at most 300 kB a file. What a program made is not kept, but for what is
# listed here. Without a git checkout, as in an unpacked archive, there is nothing to check.
set -eu
cd "$1"
most=300000
listed() {
  case $1 in
    tests/fuzz/corpus/*) return 0 ;; # any bytes, which is what it is for
  esac
  return 1
}

skip() { echo "skipped: $1"; exit 77; }
command -v git >/dev/null || skip "no git here"
test -e .git || skip "$1 is no git checkout"
files=$(git -c core.quotePath=false ls-files 2>&1) || skip "git cannot read $1: $files"

# Lines of "added removed name" against nothing at all: of a binary file git counts none, and writes "-".
counted=$(git -c core.quotePath=false diff --cached --numstat "$(git hash-object -t tree /dev/null)")
binary=$(printf '%s\n' "$counted" | sed -n 's/^-\t-\t//p')
large=$(git ls-files -z | xargs -0 wc -c 2>/dev/null | grep -v ' total$' |
  awk -v most=$most '$1 > most { sub(/^ *[0-9]+ /, ""); print }')

faults=0
refuse() { # refuse WHY NAMES: those of the names, one a line, that are not listed
  while IFS= read -r file; do
    test -n "$file" && ! listed "$file" || continue
    echo "$file: $1"
    faults=$((faults + 1))
  done <<END
$2
END
}
refuse "binary" "$binary"
refuse "more than $most bytes" "$large"
echo "$(printf '%s\n' "$files" | wc -l) files, $faults faults"
test "$faults" = 0
