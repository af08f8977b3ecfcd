#!/usr/bin/env bash
# Installs what is needed, builds, and trains a convolutional network on the 60,000 images of
# Fashion-MNIST; then runs the same training steps on each device found.
#
#   scripts/demo.sh [--device NAME] [--seed N] [--epochs N] [--steps N] [--images N] [--resume] ...
#
# All arguments are those of examples/train_fashion; --help says what each does.
# Ends with the line "demo: accuracy=<float> device=<name> seconds=<float>"; seconds are those of the
# training. Without arguments that shorten it the training must reach an accuracy of 0.88.
#
# Ctrl-C ends it with exit status 130 and a checkpoint; --resume goes on from there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
end_on_signals

# Before anything is installed or built: the program's own table says what it takes.
check_arguments() {
  local table kind
  table=$(sed -n 's/^ *{"\(--[a-z-]*\)", .* OPTION_\([A-Z]*\),.*/\1 \2/p' \
    "$root/examples/common/options.c" "$root/examples/train_fashion.c")
  while [ $# -gt 0 ]; do
    kind=$(awk -v name="$1" '$1 == name { print $2 }' <<<"$table")
    case $kind in
      '') wrong_usage "unknown argument $1" ;;
      FLAG) shift ;;
      *)
        [ $# -gt 1 ] || wrong_usage "$1 needs a value"
        shift 2
        ;;
    esac
  done
}

shortened() {
  local argument
  for argument; do
    case $argument in --steps | --epochs | --images | --batch) return 0 ;; esac
  done
  return 1
}

images_folder() { dpkg -L dataset-fashion-mnist | sed -n 's|/train-images-idx3-ubyte.gz$||p'; }

# tee outlives Ctrl-C, so that what the program says of it is seen.
train() { "$program" "${fixed[@]}" "$@" | tee -i "$output"; }

check_arguments "$@"
"$root/scripts/setup.sh" build
build release

program=$root/build/release/examples/train_fashion
checkpoint=$root/build/demo.checkpoint
output=$root/build/demo.log
fixed=(--checkpoint "$checkpoint")
folder=$(images_folder 2>/dev/null) && [ -n "$folder" ] && fixed+=(--data "$folder")
shortened "$@" || fixed+=(--expect 0.88)

run train "$@"
result=$(sed -n 's/^result: //p' "$output")
[ -n "$result" ] || die "the training gave no result"

echo
say "the same training steps on each device, from the weights just trained"
say "(the first time, an OpenCL device compiles its kernels for up to a minute)"
status=0
run "$program" "${fixed[@]}" "$@" --resume --compare-devices --steps 20 || status=1
echo "demo: $result"
exit $status
