#!/bin/sh
# gfx1010.sh TOOL LAYER: a device that calls itself a Radeon RX 5600 XT is listed as one, is found by the
# name on its box, is what `auto` takes, and gets the choices for one: every algorithm's result is right
# with them.
set -eu
export OPENCL_LAYERS="$2" CONVOY_FAULT_DEVICE=gfx1010
# Nothing is in PoCL's cache for it, and PoCL compiles when a kernel first runs: that takes minutes on
# a loaded machine.
export CONVOY_DEVICE_WAIT_BUDGET=280 CONVOY_DEADLINE=run=90
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CONVOY_STATE_DIR="$folder"

"$1" info > "$folder/info"
grep -A1 'ocl:0  gfx1010:xnack- (AMD Radeon RX 5600 XT)$' "$folder/info" | grep -q 'GPU, 18 compute units' || {
  grep -q 'no other device' "$folder/info" && { echo "skipped: no OpenCL device"; exit 77; }
  cat "$folder/info"
  exit 1
}
for device in 5600 'radeon rx 5600'; do
  "$1" selftest --device "$device" --algorithm ocl.direct --shape "n1c2h5w5 k2r3s3 forward" > "$folder/out" 2>&1 ||
    { cat "$folder/out"; exit 1; }
  grep -q '^ocl:0 ' "$folder/out" || { echo "$device did not find it"; cat "$folder/out"; exit 1; }
done
for direction in forward backward_data backward_weights; do
  "$1" selftest --device auto --shape "n2c12h17w14 k8r3s3 stride2 pad1 groups2 $direction" \
    > "$folder/out" || { cat "$folder/out"; exit 1; }
  grep -q '^ocl:0 ' "$folder/out" || { echo "auto did not take it"; cat "$folder/out"; exit 1; }
done
