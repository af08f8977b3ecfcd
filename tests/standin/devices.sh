#!/bin/sh
# devices.sh CONVOY: which devices are listed, in which order, which one is taken, and what a card is
# told that nothing compiles for.
set -eu
convoy=$1
fault() {
  echo "$1"
  exit 1
}

unset STANDIN_NAME CONVOY_DEVICE CONVOY_RUNTIMES CONVOY_ISOLATION || true
ids() { "$convoy" info 2>/dev/null | sed -n 's/^  \([a-z]*:[0-9]*\) .*/\1/p' | tr '\n' ' '; }

found=$(ids)
case $found in
*"ocl:0 "*"hip:0 cuda:0 ") ;;
*) fault "the devices are $found" ;;
esac
test "$(CONVOY_RUNTIMES=ocl,cuda ids)" = "$(echo "$found" | sed 's/hip:0 //')" ||
  fault "CONVOY_RUNTIMES leaves out none: $(CONVOY_RUNTIMES=ocl,cuda ids)"
test "$(CONVOY_RUNTIMES=cuda ids)" = "cuda:0 " || fault "more than one runtime is listed"

# Where a driver is installed for a card that is not there nothing is wrong; anything else is told.
for runtime in hip:100 hip:101 cuda:100; do
  said=$(STANDIN_STATUS=${runtime#*:} CONVOY_RUNTIMES=${runtime%:*} "$convoy" info 2>&1)
  case $said in
  *"not usable"*) fault "without a device: $said" ;;
  esac
done
said=$(STANDIN_STATUS=3 CONVOY_RUNTIMES=hip "$convoy" info 2>&1)
case $said in
*"HIP is not usable: "*"(3)"*) ;;
*) fault "a driver that fails says: $said" ;;
esac

# Who opens a device of OpenCL does not ask the runtimes behind it: only the lists have met this.
count() { "$@" 2>&1 | grep -c "HIP is not usable" || true; }
listed=$(STANDIN_STATUS=3 count "$convoy" info)
opened=$(STANDIN_STATUS=3 count "$convoy" selftest --device ocl:0 --algorithm ocl.direct \
  --shape 'n1c4h5w5 k4r1s1 forward')
test "$listed" -ge 1 || fault "a list without HIP does not say so"
test "$opened" -le $((2 * listed)) || fault "ocl:0 asked for HIP $opened times, its lists $listed"

# A row that calls OpenCL's libraries is none of a device that is not reached through OpenCL.
shape='n1c4h5w5 k4r1s1 forward'
for device in hip:0 cuda:0; do
  said=$(CONVOY_LOG=info "$convoy" selftest --device $device --algorithm ocl.direct --shape "$shape" 2>&1) ||
    fault "$device: $said"
  said=$("$convoy" selftest --device $device --algorithm ocl.im2col_clblast --shape "$shape" 2>&1) &&
    fault "$device runs CLBlast"
done

# Nothing compiles for a card of CUDA's that OpenCL does not see.
said=$(STANDIN_NAME=Other "$convoy" selftest --device cuda:0 --algorithm ocl.direct --shape "$shape" 2>&1) &&
  fault "a card without a compiler computes"
case $said in
*"cuda:0 (Other, bus unknown) has no compiler: no OpenCL device is the same card"*) ;;
*) fault "a card without a compiler says: $said" ;;
esac
