#!/usr/bin/env bash
# Pulls the plug: trains on a device and kills the process its driver lives in, again and again, in the
# middle of the training. The training goes on and ends with a network that has learned.
#
#   scripts/pull_plug.sh [DEVICE]     ocl, ocl:1 or part of a device's name; by default the first of OpenCL
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
device=${1:-ocl}
kills=3

"$root/scripts/setup.sh" build
build release
CONVOY_STATE_DIR=$(mktemp -d) # what is done to the device here is not held against it later
export CONVOY_STATE_DIR
trap 'rm -rf "$CONVOY_STATE_DIR"' EXIT

# The worker is the trainer's only child.
worker_of() { pgrep -P "$1" -f convoy-worker || true; }

log=$root/build/pull_plug.log
lines() { tr '\r' '\n' <"$log" | grep -c step || true; }
trained_on() { # TRAINER LINES: waits until it has said more than that, or has ended
  while [ "$(lines)" -le "$2" ] && kill -0 "$1" 2>/dev/null; do sleep 0.2; done
}

"$root/build/release/examples/train_fashion" --device "$device" --epochs 1 --images 6000 --expect 0.5 \
  >"$log" 2>&1 &
trainer=$!
tail -f --pid=$trainer "$log" &
for ((kill = 1; kill <= kills; kill++)); do
  trained_on $trainer "$(lines)"
  worker=$(worker_of $trainer)
  [ -n "$worker" ] || continue
  say "kill -9 $worker"
  kill -9 "$worker" || true
done
wait $trainer || die "the training did not survive"
say "the training survived"
