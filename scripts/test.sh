#!/usr/bin/env bash
# Installs what is needed, builds, and runs the tests: CTest's, and with them those of the Python bindings.
# Ends with the line "N passed, N failed, N skipped"; fails if a test fails. Left out are the tests that
# take minutes each, of which others run a part: scripts/test.sh -L long.
#
#   scripts/test.sh [-R REGEX | -E REGEX | -L REGEX | -LE REGEX | -j N | -V | --output-on-failure]...
#
# Arguments go to ctest; with any, its long tests are not left out, and -j counts halves of processors. ctest has
# more arguments: see `ctest --help`, and call it as tests/README.md says.
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
of_python=$root/build/release/tests/python
rm -rf "$results" "$of_python"/*.xml
mkdir -p "$results"

status=0
cd "$root"
chosen=("$@")
[ $# -gt 0 ] || chosen=(-LE long)
run ctest --preset release -j "$halves" --output-junit "$results/ctest.xml" "${chosen[@]}" || status=1
! compgen -G "$of_python/*.xml" >/dev/null || cp "$of_python"/*.xml "$results"
python3 scripts/summary.py "$results"/*.xml || status=1
exit $status
