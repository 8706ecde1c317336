#!/usr/bin/env bash
# Formats C++ and Python sources in place.
set -euo pipefail
cd "$(dirname "$0")/.."
find core -name '*.h' -o -name '*.cpp' -o -name '*.c' | xargs clang-format -i
ruff check --fix -q . || true
ruff format -q .
