#!/usr/bin/env bash
# run.sh RESULTS.XML PYTHON MODULES [PYTEST ARGUMENT...]: pytest in this folder. Exit status 77: modules are
# missing, or every file was skipped as a whole.
set -euo pipefail
results=$1 python=$2 modules=$3
shift 3
rm -f "$results"
if ! why=$("$python" -c "import $modules" 2>&1); then
  echo "skipped: ${why##*$'\n'}"
  exit 77
fi
# pytest before 8 puts its own sys.unraisablehook over that of a test: the plug-in that does is left out.
status=0
PYTHONPATH=$(cd .. && pwd) "$python" -m pytest -q -rs -p no:cacheprovider -p no:unraisableexception \
  --junitxml "$results" "$@" || status=$?
if [ $status = 5 ] && grep -q '<skipped' "$results"; then exit 77; fi
exit $status
