#!/bin/sh
# programs.sh ISA_VARIANTS TUNED TABLE...: counts how many programs (source and options) all layers
# of a table need, forward and both gradients: untuned, and for an NVIDIA H200 also with the
# records of the file TUNED. A driver takes up to seconds for each, so a first step of training may
# need no more than 80: those counted here, and one for the gradient of a bias. And NVIDIA's
# compiler alone is told how many registers an item gets.
set -eu
variants=$1
export CONVOY_TUNE_FILE="$2"
shift 2
most=79
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CONVOY_CACHE_DIR="$folder/cache"
status=0
used=no # a record, by any of the tables: not each has its own

# count WORD DEVICE TABLE [--tuned]
count() {
  rm -rf "$folder/programs"
  mkdir "$folder/programs"
  "$variants" "$2" "$folder/programs" ${4:+"$4"} "$3"
  programs=$(find "$folder/programs" -name '*.options' | wc -l)
  echo "$2, $(basename "$3" .csv), $1: $programs programs"
  [ "$programs" -ge 10 ] && [ "$programs" -le "$most" ] || status=1
  told=no
  grep -q -e -cl-nv-maxrregcount= "$folder"/programs/*.options && told=yes
  [ -z "${4:-}" ] || cmp -s "$folder/programs/launches.tsv" "$folder/untuned.tsv" || used=yes
  cp "$folder/programs/launches.tsv" "$folder/untuned.tsv"
  case $2,$told in NVIDIA*,yes | gfx*,no) ;; *) echo "registers told: $told"; status=1 ;; esac
}

for table in "$@"; do
  for device in gfx1010 gfx1030 gfx906 "NVIDIA H200"; do count untuned "$device" "$table"; done
  count tuned "NVIDIA H200" "$table" --tuned
done
[ $used = yes ] || status=1
[ $status = 0 ] || echo "more than $most, hardly any, no record used, or registers told to the wrong compiler"
exit $status
