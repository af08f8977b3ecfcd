#!/bin/sh
# programs.sh ISA_VARIANTS TABLE...: how many programs (source and options) all layers of a table need,
# untuned, forward and both gradients. A driver takes up to seconds for each, so a first step of training
# may need no more than 80: those counted here, and one for the gradient of a bias.
set -eu
variants=$1
shift
most=79
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

status=0
for device in gfx1010 gfx1030 gfx906 "NVIDIA H200"; do
  for table in "$@"; do
    rm -rf "$folder/programs"
    mkdir "$folder/programs"
    CONVOY_CACHE_DIR="$folder/cache" "$variants" "$device" "$folder/programs" "$table"
    count=$(find "$folder/programs" -name '*.options' | wc -l)
    echo "$device, $(basename "$table" .csv): $count programs"
    [ "$count" -ge 10 ] && [ "$count" -le "$most" ] || status=1
  done
done
[ $status = 0 ] || echo "more than $most, or hardly any"
exit $status
