#!/bin/sh
# layers.sh ROOT: every #include "..." of a folder must be allowed by the table below. The layers are
# explained in src/README.md.
set -eu
cd "$1"

# folder | what its includes may start with, besides files of the same folder. A folder inside another may
# have a row of its own; * stands for every folder without one, which may include itself but not the others.
# Which files of src/core may call which is for circles.sh.
rules='
include/convoy | convoy/
cl             | -
src/base       | convoy/ base/
src/os         | convoy/ base/ os/
src/problem    | convoy/ base/ problem/ program/
src/program    | convoy/ base/ program/
src/cpu        | convoy/ base/ os/ problem/ program/ backend.h cpu/
src/cpu/isa    | base/ cpu/isa/
src/cpu/threads | convoy/ base/ os/ problem/ cpu/threads/
src/cpu/shared | base/ problem/ backend.h cpu/row.h cpu/isa/ cpu/threads/ cpu/shared/ cpu/blas/
src/cpu/program | base/ problem/ program/ backend.h cpu/row.h cpu/isa/ cpu/threads/ cpu/program/
src/cpu/blas   | base/ cpu/threads/ cpu/blas/
src/cpu/*      | base/ problem/ backend.h cpu/row.h cpu/isa/ cpu/threads/ cpu/shared/ cpu/blas/
src/ocl        | convoy/ base/ os/ problem/ program/ backend.h ocl/ cl/ CL/
src/worker     | convoy/ base/ os/ problem/ backend.h worker/
src/core       | convoy/ base/ os/ problem/ backend.h core/
src/safetensors | convoy/ base/ safetensors/
src/nn         | convoy/ base/ os/ problem/ core/ safetensors/ api_apply.h api_check.h nn/
src/core/state | convoy/ base/ os/ core/state/
src/core/faults | convoy/ base/ os/ problem/ backend.h core/state/ core/faults/ core/context.h core/exec/store.h core/tune/choices.h core/tune/choose.h core/tune/params.h
src/core/verify | convoy/ base/ os/ problem/ backend.h core/verify/ core/exec/store.h core/tune/choose.h
src/core/tune  | convoy/ base/ os/ problem/ backend.h core/state/ core/faults/ core/verify/ core/tune/ core/exec/ core/context.h core/options.h
src/core/graph | convoy/ base/ os/ problem/ core/exec/ core/graph/ core/constants.h core/tensor.h core/tune/precompile.h core/verify/nan_watch.h
src/core/exec  | convoy/ base/ os/ problem/ backend.h core/faults/ core/verify/ core/tune/ core/exec/ core/context.h
tests/ref      | convoy/
tests/faults/layer | -
tools          | convoy/ commands.h common/
tools/common   | convoy/ ref/ common/
tools/bench    | convoy/ nets/ commands.h common/ bench/
tools/graph    | convoy/ nets/ commands.h common/
tools/overhead | convoy/ commands.h common/ overhead/
tools/report   | convoy/ commands.h common/ report/ bench/bench.h selftest/selftest.h
tools/selftest | convoy/ commands.h common/ selftest/
tools/soak     | convoy/ commands.h common/ soak/ faults/layer/
tools/tune     | convoy/ commands.h common/ tune/
tools/isa      | convoy/ base/ problem/ backend.h core/ ocl/ cl/ CL/ common/csv.h
bench          | convoy/ cl/ common/
examples       | convoy/ nets/
nets           | convoy/
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
    # A file beside it, but never a way out of the folder. In src a name with a slash begins there.
    case $file:$included in
      *..*) fault "$file" "$included" ;;
      src/*:*/*) is_allowed "$included" "$@" || fault "$file" "$included" ;;
      *) test -e "$(dirname "$file")/$included" || test -e "$folder/$included" ||
        is_allowed "$included" "$@" || fault "$file" "$included" ;;
    esac
  done
}

has_row() { # folder
  echo "$rules" | grep -q "^$1 *|"
}

# The table with each * replaced by the folders that it stands for.
expanded=$(echo "$rules" | while IFS='|' read -r folder prefixes; do
  folder=$(echo "$folder" | tr -d ' ')
  case $folder in
    *'*') for inner in $folder/; do
      inner=${inner%/}
      has_row "$inner" || echo "$inner|$prefixes ${inner#src/}/"
    done ;;
    ?*) echo "$folder|$prefixes" ;;
  esac
done)

set -f # the patterns below are find's
without_inner_rows() { # folder: arguments of find that leave out folders inside with rows of their own
  echo "$expanded" | cut -d '|' -f 1 | grep "^$1/" | sed 's/.*/! -path &\/*/'
}

checked=0
while IFS='|' read -r folder prefixes; do
  # shellcheck disable=SC2046,SC2086 # one word per argument and per prefix
  for file in $(find "$folder" -name '*.[ch]' $(without_inner_rows "$folder") -o -name '*.cl' | sort); do
    check_file "$file" "$folder" $prefixes
    checked=$((checked + 1))
  done
done << TABLE
$expanded
TABLE
set +f

# api*.c see problems and core only; backends.c is the only file that names backends.
for file in src/api*.[ch]; do
  check_file "$file" src convoy/ base/ problem/ core/ api_apply.h api_check.h
done

# Which of two files "common/NAME.h" is would depend on the order of folders on a command line.
for twice in $(find include src tools tests -name '*.h' | sed 's/^[^/]*\///' | sort | uniq -d); do
  echo "$twice is the name of two headers"
  faults=$((faults + 1))
done

naming=$(grep -lE 'cvy_backend_(cpu|ocl)\b' -r src --include='*.c' |
  grep -vE '^src/(backends\.c|cpu/|ocl/|worker/)' || true)
if [ -n "$naming" ]; then
  echo "only src/backends.c names backends, but so does: $naming"
  faults=$((faults + 1))
fi

# The seam between the engine and its runtimes. CLBlast's door is the one file beside it that sees OpenCL.
calling=$(grep -lE '\bcl[A-Z][A-Za-z]*\(|#include <CL/|\bcl_(mem|int|uint|event|kernel|program|context|device_id|command_queue)\b' \
  -r src --include='*.[ch]' | grep -vE '^src/ocl/engine/(opencl/|clblast\.c)' || true)
if [ -n "$calling" ]; then
  echo "only src/ocl/engine/opencl and CLBlast's door know OpenCL, but so does: $calling"
  faults=$((faults + 1))
fi

# A launch may be a part of another one, which its argument block says: not every runtime has offsets.
asking=$(grep -lE '\bget_global_(id|offset|size)\b' -r cl src --include='*.cl' --include='*.[ch]' || true)
if [ -n "$asking" ]; then
  echo "kernels find their place with first_group, but this asks the runtime: $asking"
  faults=$((faults + 1))
fi

test "$checked" -gt 20 || { echo "only $checked files found under $1"; exit 1; }
echo "$checked files, $faults faults"
test "$faults" -eq 0
