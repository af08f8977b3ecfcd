# What the scripts share; to be sourced from bash with `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
jobs=$(nproc)
halves=$((2 * jobs + 2)) # of processors, as ctest counts (cmake/test_order.cmake), and two for what waits

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() {
  say "$*" >&2
  exit 1
}
wrong_usage() {
  say "$*; --help says what there is" >&2
  exit 2
}

# --help, wherever it stands among the arguments of the script that reads this, prints the script's
# header, and nothing else is done.
print_header() { awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$1"; }
asked_for_help() {
  local argument
  for argument; do
    case $argument in --help | -h) return 0 ;; esac
  done
  return 1
}
if asked_for_help "$@"; then
  print_header "$0"
  exit 0
fi

# Programs compiled for OpenCL devices and choices between algorithms are kept in the build folder,
# so that nothing here touches or depends on the user's own, and every stage finds what an earlier
# one compiled.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$root/build/cache/pocl}
export CONVOY_CACHE_DIR=${CONVOY_CACHE_DIR:-$root/build/cache/convoy}
export CONVOY_STATE_DIR=${CONVOY_STATE_DIR:-$root/build/cache/state}
export CONVOY_TUNE_FILE=${CONVOY_TUNE_FILE:-$root/build/cache/tune.txt}
mkdir -p "$POCL_CACHE_DIR"

# Ctrl-C and SIGTERM end a script with 130 and 143. What it runs by `run`, or by `start` and `finish`, has
# a process group of its own, so that it gets the signal even where the script alone does, and is waited
# for; the next signal is passed on too.
group=
end_on_signals() {
  trap 'pass_on INT 130' INT
  trap 'pass_on TERM 143' TERM
}
pass_on() { # pass_on SIGNAL STATUS
  if [ -n "$group" ]; then
    kill -s "$1" -- "-$group" 2>/dev/null || true
    while kill -0 -- "-$group" 2>/dev/null; do sleep 0.1; done
  fi
  exit "$2"
}
start() { # start COMMAND...: in the background; $group is its process
  set -m
  "$@" &
  group=$!
  set +m
}
finish() { # its exit status
  local status=0
  wait "$group" || status=$?
  group=
  return $status
}
run() { # run COMMAND...
  start "$@"
  finish
}

# build PRESET [CMAKE ARGUMENT...]: configures and builds it, one process after another where several do;
# prints little unless it fails.
build() {
  local preset=$1 log
  shift
  log=$root/build/$preset.log
  mkdir -p "$root/build"
  say "building preset $preset (log: build/$preset.log)"
  (cd "$root" && flock 9 && cmake --preset "$preset" "$@" && cmake --build --preset "$preset") \
    >"$log" 2>&1 9>"$root/build/$preset.lock" ||
    {
      tail -n 60 "$log" >&2
      die "preset $preset does not build; the whole log is $log"
    }
}
