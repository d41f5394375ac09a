#!/usr/bin/env bash
# Installs the built library to a temporary prefix and builds a stranger's program against it, by find_package and by pkg-config.
# usage: run.sh BUILD_DIRECTORY
set -euo pipefail
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/consumer"
libdir=$(dirname "$(find "$work/prefix" -name mercer.pc)")
flags=$(PKG_CONFIG_PATH="$libdir" pkg-config --define-variable=prefix="$work/prefix" --cflags --libs mercer)
# shellcheck disable=SC2086
g++ -std=c++20 "$here/main.cpp" -o "$work/by-pkg-config" $flags -Wl,-rpath,"$(dirname "$libdir")"
"$work/by-pkg-config"
leaked=$(nm -DC --defined-only "$(dirname "$libdir")/libmercer.so" | grep -cE ' T (mercer::(cli|plot)|blas|cholesky)' || true)
[ "$leaked" = 0 ] || { echo "the shared library shows internal symbols"; exit 1; }
