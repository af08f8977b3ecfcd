#!/bin/sh
# cpu_only.sh TOOL LIBRARY BINDINGS PYTHON: with CONVOY_DEVICE=cpu no OpenCL library is loaded, no
# worker started and no GPU opened, as strace sees it. The same look at a run that asks for OpenCL
# devices must find them, or it would prove nothing.
set -eu
tool=$1 library=$2 bindings=$3
python=$("$4" -c 'import sys; print(sys.executable)') # a wrapper would start programs of its own
command -v strace > /dev/null || { echo "skipped: no strace"; exit 77; }
strace -o /dev/null true 2> /dev/null || { echo "skipped: ptrace is refused here"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CONVOY_STATE_DIR="$folder" CONVOY_CACHE_DIR="$folder" CONVOY_TUNE_FILE="$folder/tune"
# LeakSanitizer, in a build that has it, does not work under strace.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
export CONVOY_LIBRARY="$library" PYTHONPATH="$bindings" PYTHONDONTWRITEBYTECODE=1
cat > "$folder/tiny.csv" << 'TABLE'
name,count,N,C,H,W,K,R,S,stride_h,stride_w,pad_h,pad_w,dil_h,dil_w,groups
tiny,1,1,3,9,8,4,3,3,1,1,1,1,1,1,1
TABLE

watch() { # log command...
  log=$1
  shift
  strace -f -o "$log" -e trace=open,openat,openat2,execve,execveat,clone,clone3,fork,vfork "$@" \
    > "$folder/out" 2>&1 || { echo "failed: $*"; cat "$folder/out"; exit 1; }
}

# Files of devices and drivers, programs started, processes begun; threads are no processes.
traces() { # log
  grep -E 'libOpenCL|OpenCL/vendors|convoy-ocl|/dev/(dri|kfd|nvidia)' "$1" || true
  grep -E 'exec(ve|veat)\(' "$1" | sed 1d
  grep -E ' (clone|clone3|fork|vfork)\(' "$1" | grep -v CLONE_THREAD || true
}

clean() { # log what
  found=$(traces "$1")
  [ -z "$found" ] || { echo "$2 left traces of a device:"; echo "$found"; exit 1; }
  grep -q openat "$1" || { echo "strace saw nothing of $2"; exit 1; }
  echo "clean: $2"
}

watch "$folder/log" "$tool" info
traces "$folder/log" | grep -q convoy-worker || { echo "no worker seen where one starts"; exit 1; }

for cpu in cpu CPU 'cpu ' ' Cpu' cpu:0; do
  export CONVOY_DEVICE="$cpu"
  watch "$folder/log" "$tool" info # which looks for drivers' files itself, to name traps
  grep -q convoy-worker "$folder/log" && { echo "convoy info starts a worker: '$cpu'"; exit 1; }
  watch "$folder/log" "$tool" bench --device "$cpu" --shapes "$folder/tiny.csv" --quick
  clean "$folder/log" "convoy bench --device '$cpu'"
  watch "$folder/log" "$tool" selftest --shape "n1c3h9w8 k4r3s3 forward"
  clean "$folder/log" "convoy selftest with CONVOY_DEVICE='$cpu'"
done
if nm -D --undefined-only "$library" | grep -qE '__(asan|tsan)_init'; then
  echo "Python left out: it cannot load a library with a sanitizer"
elif "$python" -c 'import numpy' 2> /dev/null; then
  watch "$folder/log" "$python" -c 'if True:
    import numpy, convoy
    x = numpy.ones((1, 3, 9, 8), numpy.float32)
    w = numpy.ones((4, 3, 3, 3), numpy.float32)
    with convoy.open() as context:
        assert context.forward(x, w).shape == (1, 4, 7, 6)
    assert [device.id for device in convoy.devices()] == ["cpu"]'
  clean "$folder/log" "import convoy, a forward call and a list of devices with '$CONVOY_DEVICE'"
else
  echo "Python left out: no numpy"
fi
