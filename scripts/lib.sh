# What the scripts share; to be sourced from bash with `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
jobs=$(nproc)

# Programs compiled for OpenCL devices and choices between algorithms are kept in the build folder,
# so that nothing here touches or depends on the user's own, and every stage finds what an earlier
# one compiled.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$root/build/cache/pocl}
export CONVOY_CACHE_DIR=${CONVOY_CACHE_DIR:-$root/build/cache/convoy}
export CONVOY_STATE_DIR=${CONVOY_STATE_DIR:-$root/build/cache/state}
export CONVOY_TUNE_FILE=${CONVOY_TUNE_FILE:-$root/build/cache/tune.txt}
mkdir -p "$POCL_CACHE_DIR" "$CONVOY_CACHE_DIR"

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() {
  say "$*" >&2
  exit 1
}

# build PRESET [CMAKE ARGUMENT...]: configures and builds it; prints little unless it fails.
build() {
  local preset=$1 log
  shift
  log=$root/build/$preset.log
  mkdir -p "$root/build"
  say "building preset $preset (log: build/$preset.log)"
  (cd "$root" && cmake --preset "$preset" "$@" && cmake --build --preset "$preset") >"$log" 2>&1 ||
    {
      tail -n 60 "$log" >&2
      die "preset $preset does not build; the whole log is $log"
    }
}
