#!/usr/bin/env bash
# What CI checks besides the tests: formatting, lints, layers, and that generated files are fresh.
set -euo pipefail
cd "$(dirname "$0")/.."
find core \( -name '*.h' -o -name '*.cpp' -o -name '*.c' \) -print0 | xargs -0 clang-format --dry-run -Werror
ruff check -q .
ruff format -q --check .
python tools/check_layers.py
python tools/check_typed_ops.py
python tools/gen_stubs.py --check
python tools/gen_reference.py --check
python tools/gen_cpp.py --check
echo "checks passed"
