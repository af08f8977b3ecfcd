#!/bin/sh
# layers.sh ROOT: every #include "..." of a folder must be allowed by the table below. The layers are
# explained in src/README.md.
set -eu
cd "$1"

# folder | what its includes may start with, besides files of the same folder
rules='
include/convoy | -
cl             | -
src/base       | convoy/ base/
src/os         | convoy/ base/ os/
src/conv       | convoy/ base/ conv/
src/program    | convoy/ base/ program/
src/cpu        | convoy/ base/ os/ conv/ program/ backend.h cpu/
src/ocl        | convoy/ base/ os/ conv/ program/ backend.h ocl/ cl/ CL/
src/worker     | convoy/ base/ os/ conv/ backend.h worker/
src/core       | convoy/ base/ os/ conv/ backend.h core/
tests/ref      | convoy/
tests/faults/layer | -
tools          | convoy/ ref/ faults/layer/
tools/isa      | convoy/ base/ conv/ backend.h core/ ocl/ cl/ CL/ csv.h
examples       | convoy/
'

includes() { # file: the names it includes in quotes
  sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$1"
}

faults=0
fault() {
  echo "$1 includes \"$2\", which its layer must not see"
  faults=$((faults + 1))
}

is_allowed() { # included file prefixes...
  included=$1
  shift
  for prefix in "$@"; do
    case $included in "$prefix"*) return 0 ;; esac
  done
  return 1
}

check_file() { # file folder prefixes...
  file=$1 folder=$2
  shift 2
  for included in $(includes "$file"); do
    # A file beside it, but never a way out of the folder.
    case $included in
      *..*) fault "$file" "$included" ;;
      *) test -e "$(dirname "$file")/$included" || test -e "$folder/$included" ||
        is_allowed "$included" "$@" || fault "$file" "$included" ;;
    esac
  done
}

checked=0
while IFS='|' read -r folder prefixes; do
  folder=$(echo "$folder" | tr -d ' ')
  test -n "$folder" || continue
  for file in $(find "$folder" -name '*.[ch]' -o -name '*.cl' | sort); do
    # A folder inside with a row of its own.
    case $folder:$file in tools:tools/isa/*) continue ;; esac
    # shellcheck disable=SC2086 # one word per prefix
    check_file "$file" "$folder" $prefixes
    checked=$((checked + 1))
  done
done << TABLE
$rules
TABLE

# api*.c see core only; backends.c is the only file that names backends.
for file in src/api*.[ch]; do
  check_file "$file" src convoy/ base/ core/ api_check.h
done
naming=$(grep -lE 'cvy_backend_(cpu|ocl)\b' -r src --include='*.c' |
  grep -vE '^src/(backends\.c|cpu/|ocl/|worker/)' || true)
if [ -n "$naming" ]; then
  echo "only src/backends.c names backends, but so does: $naming"
  faults=$((faults + 1))
fi

test "$checked" -gt 20 || { echo "only $checked files found under $1"; exit 1; }
echo "$checked files, $faults faults"
test "$faults" -eq 0
