#!/usr/bin/env bash
# Pulls the plug: trains on a device and kills the process its driver lives in, again and again, in the
# middle of the training. The training goes on and ends with a network that has learned.
#
#   scripts/pull_plug.sh [DEVICE]     ocl, ocl:1 or gfx1010, part of a device's name; by default the first of OpenCL
#
# Ctrl-C ends it with exit status 130.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
end_on_signals
[ $# -le 1 ] || wrong_usage "one device at most, not $*"
case ${1:-} in -*) wrong_usage "unknown argument $1" ;; esac
device=${1:-ocl}
kills=3 killed=0

"$root/scripts/setup.sh" build
build release
# What is done to the device here is not held against it, neither now nor later.
CONVOY_STATE_DIR=$(mktemp -d)
export CONVOY_STATE_DIR CONVOY_STRIKE_LIMIT=0
tail=
clean_up() {
  if [ -n "$tail" ]; then
    kill "$tail" 2>/dev/null || true
    wait "$tail" 2>/dev/null || true
  fi
  rm -rf "$CONVOY_STATE_DIR"
}
trap clean_up EXIT

# Without builders the worker is the trainer's only child.
export CONVOY_BUILDERS=0
worker_of() {
  local child=
  read -r child _ < <(cat "/proc/$1"/task/*/children 2>/dev/null) || true # there is no newline
  echo "$child"
}

log=$root/build/pull_plug.log
: >"$log" # so that it is there to be read
train() {
  exec "$root/build/release/examples/train_fashion" --device "$device" --epochs 1 --images 20000 \
    --expect 0.5 >"$log" 2>&1
}
start train
tail -f --pid="$group" "$log" &
tail=$!
until grep -q step "$log" || ! kill -0 "$group" 2>/dev/null; do sleep 0.5; done
for ((kill = 1; kill <= kills; kill++)); do
  sleep 3
  worker=$(worker_of "$group")
  [ -n "$worker" ] && kill -9 "$worker" || continue
  say "kill -9 $worker"
  killed=$((killed + 1))
done
finish || die "the training did not survive"
[ $killed -gt 0 ] || die "the training was over before anything was killed"
say "the training survived; processes killed: $killed"
