#!/usr/bin/env bash
# What a trainer takes from another one on the same cores: seconds of a neighbour's training, the same
# each time, while a second trainer runs beside it. Arguments are builds that train beside it, with
# settings: "DIR [NAME=VALUE...]". The neighbour is the first one's.
#
#     bench/neighbour.sh build/release 'build/release CONVOY_TEAM=pool'
set -euo pipefail
images=${IMAGES:-25600} rounds=${ROUNDS:-3}
export CONVOY_DEVICE=cpu CONVOY_TUNE=off

train() { # train "DIR [NAME=VALUE...]" ARGUMENT...
  local dir settings
  read -r dir settings <<<"$1"
  shift
  # shellcheck disable=SC2086 # the settings are words
  exec env $settings "$dir/examples/train_fashion" "$@" >/dev/null 2>&1
}

neighbour() { # prints its seconds
  local start=$EPOCHREALTIME
  (train "${1%% *} CONVOY_TEAM=pool" --epochs 1 --images "$images")
  echo "$EPOCHREALTIME - $start" | bc
}

echo "alone: $(neighbour "$1") s"
for ((round = 0; round < rounds; round++)); do
  for beside in "$@"; do
    (train "$beside" --epochs 1000) &
    sleep 1
    seconds=$(neighbour "$1")
    kill $! && wait $! 2>/dev/null || true
    echo "beside $beside: $seconds s"
  done
done
