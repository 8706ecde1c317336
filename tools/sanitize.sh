#!/usr/bin/env bash
# Builds with AddressSanitizer and UndefinedBehaviorSanitizer and runs all tests.
#   tools/sanitize.sh [pytest arguments]
# Needs cmake, ninja, scipy-openblas32, onednn-cpu-gomp, onednn-devel-cpu-gomp, numpy and pytest in the active environment.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/sanitize
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWISP_SANITIZE=address,undefined -DWISP_TESTS=ON >/dev/null
ninja -C $build
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
export LSAN_OPTIONS=suppressions=$PWD/tools/leaks.txt
$build/wisp_tests
# A copy of the package with the instrumented extension; Python itself is not instrumented, so the
# runtime must be loaded first, and what the interpreter leaks at exit is not ours.
tree=$build/tree
rm -rf $tree && mkdir -p $tree && cp -r wisp tests tools examples $tree/ && rm -f $tree/wisp/_C*.so && cp $build/_C*.so $tree/wisp/
cd $tree
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
  WISP_SANITIZED=1 python -m pytest tests -q -x -p no:cacheprovider "$@"
