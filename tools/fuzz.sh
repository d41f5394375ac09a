#!/usr/bin/env bash
# Builds every libFuzzer program (clang, AddressSanitizer, UBSan) and runs each for FUZZ_RUNS inputs; model readers start from the
# golden models. Stops at the first crash, leaving the input that caused it in build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${FUZZ_RUNS:-20000}
cmake --preset fuzz >/dev/null
targets=()
for source in tests/fuzz/fuzz_*.cpp; do targets+=("$(basename "$source" .cpp)"); done
cmake --build build/fuzz -j "$(nproc)" --target "${targets[@]}" | tail -n 1
cd build/fuzz
passed=0
for name in "${targets[@]}"; do
  corpus=corpus-$name
  mkdir -p "$corpus"
  case $name in fuzz_model | fuzz_tensor_file) cp ../../tests/golden/*.mercer "$corpus"/ ;; esac
  if ! ./tests/fuzz/"$name" -runs="$runs" -max_total_time="${FUZZ_SECONDS:-600}" -timeout=25 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 "$corpus" >"$name.log" 2>&1; then
    tail -n 40 "$name.log" >&2
    echo "fuzz: $name FAILED" >&2
    exit 1
  fi
  echo "fuzz: $name ran $(sed -n 's/^stat::number_of_executed_units: *//p' "$name.log") inputs, no crash"
  passed=$((passed + 1))
done
echo "fuzz: $passed fuzzers passed"
