#!/bin/sh
# consumer.sh CMAKE CC BUILD PROJECT [FLAG]: installs BUILD, moves the installed tree (nothing in it may
# remember where it was), then builds and runs PROJECT through find_package and through pkg-config.
set -eu
cmake=$1 cc=$2 build=$3 project=$4 flags=${5:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" > "$work/install.log" ||
  { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"
library=$(find "$work/prefix" -name libconvoy.so | head -n 1)
test -n "$library" || { echo "no libconvoy.so was installed"; exit 1; }

echo "== find_package"
"$cmake" -S "$project" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$flags" \
  -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/cmake" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/cmake/consumer"

echo "== pkg-config"
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086 # words are wanted
"$cc" $flags "$project/main.c" $(pkg-config --cflags --libs convoy) -o "$work/consumer"
LD_LIBRARY_PATH=$(dirname "$library") "$work/consumer"

# Nothing of the build tree or the first prefix may be written into what was installed.
if grep -rlIF -e "$work/first" -e "$build" "$work/prefix"; then
  echo "the files above name a folder of the build"
  exit 1
fi
