#!/bin/sh
# docs.sh ROOT: what the documents name in back-quotes must exist: paths of the repository, functions
# and constants of Convoy. A path is a word with a slash whose first folder is one of the repository;
# NAME in it stands for something yet to be written. What they link to must exist too, with its heading.
# Lines have 120 columns at most, rows of tables as many as they need.
set -eu
cd "$1"
documents=$(find . -name '*.md' -not -path './build/*' -not -path './.venv/*' -not -path './.git/*' \
  -not -path '*/node_modules/*' | sort)
sources='include src cl tools tests examples bindings cmake scripts bench CMakeLists.txt .ci'

quoted() { # document: each back-quoted text on a line of its own, code blocks left out
  awk '/^ *```/ { block = !block; next } !block' "$1" | grep -o '`[^`]*`' | tr -d '`'
}

faults=0
fault() {
  echo "$1: \`$2\` does not exist"
  faults=$((faults + 1))
}

is_repository_path() { # word
  case $1 in
    *[!A-Za-z0-9_./-]* | *NAME* | /* | ../* | build/* | http*) return 1 ;;
    */*) test -d "${1%%/*}" ;;
    *) return 1 ;;
  esac
}

exists_from() { # document path: from the root, from src/, or beside the document
  test -e "$2" || test -e "src/$2" || test -e "$(dirname "$1")/$2"
}

names=0
for document in $documents; do
  for word in $(quoted "$document" | tr ' ' '\n' | sed 's/[,.;:]*$//' | sort -u); do
    if is_repository_path "$word"; then
      names=$((names + 1))
      exists_from "$document" "$word" || fault "$document" "$word"
    fi
  done
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
