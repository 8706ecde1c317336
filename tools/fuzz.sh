#!/usr/bin/env bash
# Builds the fuzzers of core/fuzz with clang, ASan and UBSan, and runs each for so many seconds.
#   tools/fuzz.sh SECONDS [NAME...]
# Needs clang, cmake, ninja and scipy-openblas32, and a wisp that Python finds, to write the inputs to begin with. What is
# found lies in build/fuzz/findings; what was learned stays in build/fuzz/corpus. tools/fuzz_files.py does the loaders of Python.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
build=build/fuzz
cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Release \
  -DWISP_SANITIZE=address,undefined,fuzzer-no-link -DWISP_FUZZ=ON -DWISP_ALL_ISAS=OFF -DWISP_ONEDNN=OFF -DWISP_PYTHON=OFF \
  -DWISP_LIBRARY=OFF -DWISP_PRECOMPILE=OFF >/dev/null
ninja -C $build
PYTHONPATH=. python tools/fuzz_seeds.py $build/seeds
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024
mkdir -p $build/findings
[ $# -gt 0 ] || set -- archive program checkpoint npy run
for name in "$@"; do
  mkdir -p $build/corpus/"$name"
  $build/fuzz_"$name" $build/corpus/"$name" $build/seeds/"$name" -dict=$build/seeds/"$name".dict -max_total_time="$seconds" \
    -max_len=16384 -timeout=20 -rss_limit_mb=4096 -artifact_prefix=$build/findings/"$name"_ -print_final_stats=1
done
