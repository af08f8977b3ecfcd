#!/usr/bin/env bash
# Installs what is needed, builds, and runs the tests: CTest's, then those of the Python bindings.
# Ends with the line "N passed, N failed, N skipped"; fails if a test fails. Left out are the tests that
# take minutes each, of which others run a part: scripts/test.sh -L long.
#
#   scripts/test.sh [-R REGEX | -E REGEX | -L REGEX | -LE REGEX | -j N | -V | --output-on-failure]...
#
# Arguments go to ctest; with any, the Python tests are left out, but for the long ones with -L long, and ctest's long
# ones are not. ctest has more arguments: see `ctest --help`, and call it as tests/README.md says.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
end_on_signals

check_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      -V | --output-on-failure) shift ;;
      -R | -E | -L | -LE | -j)
        [ $# -gt 1 ] || wrong_usage "$1 needs a value"
        shift 2
        ;;
      *) wrong_usage "unknown argument $1" ;;
    esac
  done
}
check_arguments "$@"

results=$root/build/results
"$root/scripts/setup.sh" test
build release -DCONVOY_TESTS=ON
rm -rf "$results"
mkdir -p "$results"

status=0
cd "$root"
chosen=("$@")
[ $# -gt 0 ] || chosen=(-LE long)
ctest --preset release -j "$jobs" --output-junit "$results/ctest.xml" "${chosen[@]}" || status=1

# run_pytest NAME PYTHON MODULES [PYTEST ARGUMENT...]: one skipped test where the modules are missing.
# pytest before 8 puts its own sys.unraisablehook over that of a test: the plug-in that does is left out.
run_pytest() {
  local name=$1 python=$2 modules=$3 why
  shift 3
  if why=$("$python" -c "import $modules" 2>&1); then
    CONVOY_LIBRARY=$root/build/release/libconvoy.so PYTHONPATH=$root/bindings/python \
      "$python" -m pytest -q -p no:cacheprovider -p no:unraisableexception \
      bindings/python/tests --junitxml "$results/$name.xml" "$@"
  else
    cat >"$results/$name.xml" <<XML
<testsuite><testcase name="$name"><skipped message="${why##*$'\n'}"/></testcase></testsuite>
XML
  fi
}

# The long ones among the tests of the newest PyTorch are those that train with Ultralytics.
run_beside() {
  local status=0
  run_pytest pytest_old_torch /usr/bin/python3 numpy,pytest,torch -k torch -m "not long" || status=1
  run_pytest pytest_ultralytics "$venv/bin/python" numpy,pytest,ultralytics -k ultralytics || status=1
  return $status
}

# Two at a time, since each leaves half of the processors idle. Only an old PyTorch has long ones.
if [ $# = 0 ]; then
  start run_beside >"$results/beside.out" 2>&1
  run_pytest pytest "$venv/bin/python" numpy,pytest -k "not ultralytics" || status=1
  finish || status=1
  cat "$results/beside.out"
elif [ "$*" = "-L long" ]; then
  run_pytest pytest_old_torch /usr/bin/python3 numpy,pytest,torch -k torch -m long || status=1
fi

python3 scripts/summary.py "$results"/*.xml || status=1
exit $status
