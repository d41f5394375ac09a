#!/usr/bin/env bash
# Builds every libFuzzer program (clang, AddressSanitizer, UBSan) and runs each for FUZZ_RUNS inputs; model readers start from the
# golden models, table readers from the files of tools/fuzz_seeds.py. HDF5, at milliseconds an input, gets FUZZ_RUNS_SLOW of them.
# FUZZERS="fuzz_csv fuzz_npy" runs only these. Stops at the first crash, leaving the input that caused it in build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${FUZZ_RUNS:-20000}
cmake --preset fuzz >/dev/null
read -ra targets <<<"${FUZZERS:-$(basename -s .cpp -a tests/fuzz/fuzz_*.cpp | tr '\n' ' ')}"
cmake --build build/fuzz -j "$(nproc)" --target "${targets[@]}" | tail -n 1
build/venv/bin/python tools/fuzz_seeds.py build/fuzz
cd build/fuzz
passed=0
export LD_BIND_NOW=1  # not again in every forked process
for name in "${targets[@]}"; do
  corpus=corpus-$name
  mkdir -p "$corpus"
  case $name in fuzz_model | fuzz_tensor_file) cp ../../tests/golden/*.mercer "$corpus"/ ;; esac
  inputs=$runs timeout=25
  case $name in fuzz_hdf5*) inputs=${FUZZ_RUNS_SLOW:-$runs} timeout=150 ;; esac  # the worker may take 60 s
  if ! ./tests/fuzz/"$name" -runs="$inputs" -max_total_time="${FUZZ_SECONDS:-600}" -timeout="$timeout" -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 "$corpus" >"$name.log" 2>&1; then
    tail -n 40 "$name.log" >&2
    echo "fuzz: $name FAILED" >&2
    exit 1
  fi
  echo "fuzz: $name ran $(sed -n 's/^stat::number_of_executed_units: *//p' "$name.log") inputs, no crash"
  passed=$((passed + 1))
done
echo "fuzz: $passed fuzzers passed"
