#!/bin/sh
# folders.sh ROOT: wherever the build folder is, tests write into it, and presets also into the build/ that
# holds theirs (cmake/test_folders.cmake).
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/list.cmake" <<'END'
include(${FOLDERS})
foreach(setting IN LISTS CONVOY_TEST_FOLDERS)
  message(STATUS "${setting}")
endforeach()
END

count=0 faults=0
check() { # check BUILD_FOLDER WHERE: each of the folders lies in WHERE
  cmake -DFOLDERS="$root/cmake/test_folders.cmake" -DPROJECT_SOURCE_DIR=/source \
    -DPROJECT_BINARY_DIR="$1" -P "$work/list.cmake" >"$work/list"
  while IFS='=' read -r name path; do
    count=$((count + 1))
    case $path in *..*) ;; "$2"/*) continue ;; esac
    echo "a build in $1: $name=$path is not in $2"
    faults=$((faults + 1))
  done <"$work/list"
}
check /source/build/release /source/build
check /source/build /source/build
check /source/build/ci/old /source/build/ci/old
check /source/out /source/out
check /elsewhere/build /elsewhere/build
echo "$count folders, $faults faults"
test "$faults" = 0 && test "$count" -ge 20
