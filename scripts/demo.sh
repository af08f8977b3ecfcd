#!/usr/bin/env bash
# Installs what is needed, builds, and trains a convolutional network on the 60,000 images of
# Fashion-MNIST; then runs the same training steps on each device found.
#
#   scripts/demo.sh [--device NAME] [--seed N] [--epochs N] [--resume] ...
#
# Arguments go to examples/train_fashion (--help lists them). Ends with the line
# "demo: accuracy=<float> device=<name> seconds=<float>"; seconds are those of the training.
# Without arguments that shorten it the training must reach an accuracy of 0.88.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

shortened() {
  local argument
  for argument; do
    case $argument in --steps | --epochs | --images | --batch) return 0 ;; esac
  done
  return 1
}

images_folder() { dpkg -L dataset-fashion-mnist | sed -n 's|/train-images-idx3-ubyte.gz$||p'; }

"$root/scripts/setup.sh" build
build release

program=$root/build/release/examples/train_fashion
checkpoint=$root/build/demo.checkpoint
output=$root/build/demo.log
fixed=(--checkpoint "$checkpoint")
folder=$(images_folder 2>/dev/null) && [ -n "$folder" ] && fixed+=(--data "$folder")
shortened "$@" || fixed+=(--expect 0.88)

"$program" "${fixed[@]}" "$@" | tee "$output"
result=$(sed -n 's/^result: //p' "$output")
[ -n "$result" ] || die "the training gave no result"

echo
say "the same training steps on each device, from the weights just trained"
say "(the first time, an OpenCL device compiles its kernels for up to a minute)"
status=0
"$program" "${fixed[@]}" "$@" --resume --compare-devices --steps 20 || status=1
echo "demo: $result"
exit $status
