#!/usr/bin/env bash
# Installs what Convoy needs on Debian 12, Ubuntu 24.04 and the like.
#
#   scripts/setup.sh [build|test|ci|bench]
#
#   build  compiler, CMake, OpenCL (with PoCL, which runs on the CPU), CLBlast, OpenBLAS, images
#   test   and what the tests need (the default)
#   ci     and linters, sanitizers' runtimes, oclgrind
#   bench  test, and matplotlib for plots
#
# Packages come from apt (as root, or through sudo); Python modules go to .venv, from the package
# index or, where that is out of reach, from Debian. What is there already is left alone, so a
# second call is quick. Needs nothing but bash.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -le 1 ] || wrong_usage "one mode at most, not $*"
mode=${1:-test}
case $mode in
  build | test | ci | bench) ;;
  *) wrong_usage "unknown mode $mode: build, test, ci or bench" ;;
esac

# modes | need | packages, any one of which will do | what for
#   need: must, or may: without it something is left out, which the last column names
# OpenBLAS: never the pthread build, whose thread pool cannot be told to keep to itself. OpenMP: gcc brings
# its runtime along.
packages() {
  cat <<'TABLE'
build test ci bench | must | gcc                       | the compiler
build test ci bench | must | libc6-dev                 | the C library's headers
build test ci bench | must | cmake                     | the build
build test ci bench | must | ninja-build               | the build
build test ci bench | must | pkg-config pkgconf        | finding libraries
build test ci bench | may  | zlib1g-dev                | the example train_fashion
build test ci bench | may  | libpng-dev                | PNG files in the example train_images
build test ci bench | may  | libjpeg-dev               | JPEG files in the example train_images
build test ci bench | may  | ocl-icd-opencl-dev        | the OpenCL engine
build test ci bench | may  | opencl-headers            | the OpenCL engine
build test ci bench | may  | pocl-opencl-icd           | an OpenCL device on any machine
build test ci bench | may  | libclblast-dev            | the algorithms ocl.im2col_clblast and ocl.matmul_clblast
build test ci bench | may  | libopenblas-openmp-dev libopenblas-serial-dev | the algorithms cpu.im2col and cpu.matmul_blas
build test ci bench | may  | dataset-fashion-mnist     | the images of scripts/demo.sh
test ci bench       | must | libcmocka-dev             | the tests in C
test ci bench       | must | g++                       | the test that the header is C++ too
test ci bench       | must | make                      | the test of the installed package: CMake's default
test ci bench       | must | python3                   | tests, bindings
test ci bench       | must | python3-venv              | .venv
test ci             | may  | python3-torch             | convoy.torch with the oldest PyTorch
test ci             | may  | python3-pytest            | the same
test ci             | may  | strace                    | the test of what CONVOY_DEVICE=cpu opens
test ci             | may  | locales                   | the test under locales with a decimal comma
ci                  | must | clang                     | fuzzing
ci                  | must | clang-format              | lint
ci                  | must | clang-tidy                | lint
ci                  | must | cppcheck                  | lint
ci                  | must | gcovr                     | coverage
ci                  | must | oclgrind                  | checking the kernels' memory accesses
ci                  | must | clang-15                  | compiling the kernels for AMD GPUs, as older ROCm does
ci                  | must | clang-22 clang-21 clang-20 clang-19 | and as newer ROCm does
ci                  | must | rocm-device-libs          | the device libraries of both
TABLE
}

export DEBIAN_FRONTEND=noninteractive
quick=(-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1)
updated=no

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    die "not root and no sudo; as root: $*"
  fi
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
# No pipe: under pipefail a grep that has seen enough would fail apt-cache, and so the package.
available() { [[ $(apt-cache policy "$1" 2>/dev/null) == *'Candidate: '[!\(]* ]]; }

first_that() { # first_that TEST PACKAGE...: prints the first package that passes
  local test=$1 package
  shift
  for package; do
    if "$test" "$package"; then
      echo "$package"
      return
    fi
  done
  return 1
}

update_lists() {
  [ $updated = yes ] && return
  updated=yes
  say "apt-get update"
  as_root apt-get "${quick[@]}" -qq update </dev/null ||
    say "the package lists are old: apt-get update failed"
}

install_packages() { # install_packages PACKAGE...
  [ $# = 0 ] && return
  say "apt-get install $*"
  as_root apt-get "${quick[@]}" -qq -y --no-install-recommends install "$@" >/dev/null </dev/null ||
    die "apt-get could not install: $*"
}

# Goes through the table once: collects what is missing, installs it in one call.
install_table() {
  local modes need names why name missing=()
  while IFS='|' read -r modes need names why; do
    [[ " $modes " == *" $mode "* ]] || continue
    # shellcheck disable=SC2086 # the names are separate words
    first_that installed $names >/dev/null && continue
    update_lists
    # shellcheck disable=SC2086
    if name=$(first_that available $names); then
      missing+=("$name")
    elif [ "${need// /}" = must ]; then
      die "no package list has any of: $names (needed for:$why)"
    else
      say "no package list has any of: $names. Left out:$why"
    fi
  done < <(packages)
  [ ${#missing[@]} = 0 ] && say "all packages for '$mode' are there"
  install_packages "${missing[@]}"
}

# clang's sanitizer and fuzzer runtimes, whose package carries clang's version in its name.
install_clang_runtime() {
  local major
  major=$(clang --version | sed -n 's/.*version \([0-9]*\).*/\1/p;q')
  installed "libclang-rt-$major-dev" && return
  update_lists
  if available "libclang-rt-$major-dev"; then install_packages "libclang-rt-$major-dev"; fi
}

# OpenBLAS's builds that take one call at a time, for the tests that say what they are used for.
# Installed, the pthread build would be every program's: alternatives prefer it.
unpack_openblas() {
  local kind folder=$root/build/openblas
  for kind in pthread serial; do
    compgen -G "$folder/usr/lib/*/openblas-$kind" >/dev/null && continue
    update_lists
    mkdir -p "$folder"
    (cd "$folder" && apt-get "${quick[@]}" -qq download "libopenblas0-$kind" >/dev/null 2>&1 &&
      dpkg -x "libopenblas0-${kind}"_*.deb . && rm "libopenblas0-${kind}"_*.deb) ||
      say "no package list has libopenblas0-$kind: the tests of that build are skipped"
  done
}

# ------------------------------------------------------------------------------------- Python

has_modules() { "$venv/bin/python" -c "import $1" 2>/dev/null; }
pip_install() {
  "$venv/bin/python" -m pip --disable-pip-version-check --timeout 15 --retries 1 -q install "$@"
}

# Debian's modules, seen through a .venv made from Debian's Python.
debian_modules() { # debian_modules PACKAGE...
  say "the package index has failed: taking $* from apt"
  update_lists
  install_packages "$@"
  rm -rf "$venv"
  /usr/bin/python3 -m venv --system-site-packages "$venv"
}

make_venv() {
  [ -x "$venv/bin/python" ] && has_modules pip && return
  say "making .venv"
  rm -rf "$venv"
  python3 -m venv "$venv" 2>/dev/null || /usr/bin/python3 -m venv "$venv"
}

install_modules() {
  make_venv
  has_modules numpy,pytest && return
  say "pip install numpy pytest"
  pip_install numpy pytest || debian_modules python3-numpy python3-pytest
  has_modules numpy,pytest || say "no numpy and pytest: the tests of the Python bindings are skipped"
}

# For the test of what the archive of sources holds.
install_build_backend() {
  has_modules scikit_build_core && return
  say "pip install scikit-build-core"
  pip_install scikit-build-core || say "no scikit-build-core within reach: bindings/python/tests/test_sdist.py is skipped"
}

# PyTorch for the CPU. The public index's builds for Linux bring gigabytes of CUDA along; a trial run
# shows whether the index in use does, and then only the CPU build's own index will do.
install_torch() {
  has_modules torch && return
  local version=2.13.0 report
  report=$(pip_install --dry-run --report - "torch==$version" 2>/dev/null) || report=
  say "pip install torch $version, the build for CPUs"
  if grep -qiE '"name": "(nvidia|cuda|triton)' <<<"$report"; then
    pip_install "torch==$version+cpu" --index-url https://download.pytorch.org/whl/cpu
  else
    pip_install "torch==$version"
  fi || say "no PyTorch for CPUs within reach: the tests that use it are skipped"
}

# Ultralytics for the test that trains with it, without what it would bring along: PyTorch for CUDA, and
# OpenCV with a window system. Of torchvision only the Python part is needed.
install_ultralytics() {
  has_modules ultralytics && return
  has_modules torch || return 0
  say "pip install ultralytics"
  { pip_install opencv-python-headless matplotlib pillow pyyaml requests psutil polars &&
    pip_install --no-deps ultralytics==8.4.190 ultralytics-thop torchvision==0.28.0; } ||
    say "no ultralytics within reach: the tests that train with it are skipped"
}

command -v apt-get >/dev/null || die "no apt-get here; the table in this file lists what is needed"
started=$SECONDS
install_table
[ "$mode" = ci ] && install_clang_runtime
if [ "$mode" != build ]; then
  unpack_openblas
  install_modules
  install_build_backend
  install_torch
  install_ultralytics
fi
if [ "$mode" = bench ]; then
  has_modules matplotlib || pip_install matplotlib || say "no matplotlib: plots are left out"
fi
say "ready for '$mode' after $((SECONDS - started)) s"
