#!/bin/sh
# docs.sh ROOT: what the documents name must exist: paths of the repository, in back-quotes or not, and in
# back-quotes functions and constants of Convoy. A path is a word with a slash whose first folder is one of
# the repository; in back-quotes it may begin in src or beside the document instead. NAME in it stands for
# something yet to be written, TABLE for any. A function that is named with its file must be in that file:
#   `src/file.c`: `one`, `another`   or   there: `one`   for the file named last   or   `one` in `src/file.c`
# What documents link to must exist too, with its heading. Lines have 120 columns at most, rows of tables as
# many as they need.
set -eu
cd "$1"
documents=$(find . -name '*.md' -not -path './build/*' -not -path './.venv/*' -not -path './.git/*' \
  -not -path '*/node_modules/*' | sort)
list=$(mktemp)
trap 'rm -f "$list"' EXIT
sources='include src cl tools tests examples bindings cmake scripts bench CMakeLists.txt .ci'

quoted() { # document: each back-quoted text on a line of its own, code blocks left out
  awk '/^ *```/ { block = !block; next } !block' "$1" | grep -o '`[^`]*`' | tr -d '`'
}

plain() { # document: its text without code blocks, back-quotes and links
  awk '/^ *```/ { block = !block; next } !block' "$1" | sed 's/`[^`]*`//g; s/\](\([^)]*\))//g'
}

faults=0
fault() {
  echo "$1: \`$2\` does not exist"
  faults=$((faults + 1))
}

is_repository_path() { # word
  case $1 in
    *[!A-Za-z0-9_./-]* | *NAME* | *TABLE* | /* | ../* | build/* | http*) return 1 ;;
    */*) return 0 ;;
    *) return 1 ;;
  esac
}

begins_in() { # word folder...: whether one of the folders has the word's first folder
  first=${1%%/*}
  shift
  for folder in "$@"; do
    test ! -d "$folder/$first" || return 0
  done
  return 1
}

# document: "NAME FILE...", a line for each function that is named with its file, or one of several files.
functions() {
  awk '
    /^ *```/ { block = !block; next }
    !block { text = text " " $0 }
    function is_file(word) { return word ~ /^[a-z][A-Za-z0-9_.\/-]*\/[A-Za-z0-9_.-]*[.](c|h|cl|py|sh)$/ }
    function is_name(word) { return word ~ /^[a-z_][a-z0-9_]*$/ }
    END {
      while (match(text, /`[^`]*`/)) {
        between = substr(text, 1, RSTART - 1)
        word = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        if (is_file(word)) {
          if (is_name(before) && between == " in ") print before, word
          files = is_file(before) && between ~ /^[ ,]*(and )?$/ ? files " " word : word
          naming = 0
        } else if (is_name(word)) {
          if (between ~ /there: *$/ || is_file(before) && between ~ /^: *$/) naming = 1
          else if (between !~ /^(,|,? and) *$/) naming = 0
          if (naming) print word, files
        } else naming = 0
        before = word
      }
    }' "$1"
}

# name file...: in one of the files. In a C source it is defined there, as .clang-format writes it.
is_defined() {
  name=$1
  shift
  for file in "$@"; do
    test -e "$file" || file=src/$file
    case $file in
      *.c) grep -sqE "^[A-Za-z_].*\\b$name\\(" "$file" && return 0 ;;
      *) grep -sqw -e "$name" "$file" && return 0 ;;
    esac
  done
  return 1
}

exists_from() { # document path: from the root, from src/, or beside the document
  test -e "$2" || test -e "src/$2" || test -e "$(dirname "$1")/$2"
}

names=0
check_paths() { # document folders, words on the standard input
  document=$1
  shift
  words=$(tr ' |("' '\n' | sed 's/#.*//; s/[,.;:)]*$//' | sort -u)
  for word in $words; do
    is_repository_path "$word" && begins_in "$word" "$@" || continue
    names=$((names + 1))
    exists_from "$document" "$word" || fault "$document" "$word"
  done
}

for document in $documents; do
  quoted "$document" > "$list"
  check_paths "$document" . src "$(dirname "$document")" < "$list"
  plain "$document" > "$list"
  check_paths "$document" . < "$list"
  functions "$document" > "$list"
  while read -r name files; do
    names=$((names + 1))
    # shellcheck disable=SC2086 # one word per file
    is_defined "$name" $files || fault "$document" "$name in $files"
  done < "$list"
  for name in $(quoted "$document" | grep -oE '\b(convoy|cvy|CONVOY|CVY)_[A-Za-z0-9_]+' | sort -u); do
    names=$((names + 1))
    # shellcheck disable=SC2086 # one word per folder
    grep -rqwF -e "$name" $sources || fault "$document" "$name"
  done
done
links() { # document: what it links to, each on a line of its own, code blocks left out
  awk '/^ *```/ { block = !block; next } !block' "$1" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//'
}

anchors() { # document: its headings as GitHub calls them
  awk '/^ *```/ { block = !block; next } !block && /^#+ /' "$1" | sed 's/^#* //' |
    tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

for document in $documents; do
  for link in $(links "$document"); do
    case $link in http*) continue ;; esac
    names=$((names + 1))
    target=$(dirname "$document")/${link%%#*}
    test -n "${link%%#*}" || target=$document
    test -e "$target" || fault "$document" "$link"
    case $link in
      *'#'*) anchors "$target" | grep -qxF -e "${link#*#}" || fault "$document" "$link" ;;
    esac
  done
  awk -v document="$document" -v most=120 '
    /^ *\|/ || length($0) <= most { next }
    { print document ":" FNR ": " length($0) " columns, at most " most " outside tables"; wide = 1 }
    END { exit wide }' "$document" || faults=$((faults + 1))
done
echo "$names names in $(echo "$documents" | wc -w) documents, $faults faults"
test "$faults" -eq 0
