#!/usr/bin/env bash
# Installs what Mercer needs to build, test and demonstrate itself: Debian packages, and a Python environment under
# build/venv for the command line tests and the benchmarks against peers. Idempotent: it looks first, and installs only what is missing.
#   tools/setup.sh build          compiler, CMake and the libraries of docs/design.md
#   tools/setup.sh test           the above, build/venv with numpy, scipy, scikit-learn, pytest …, and a browser for reports
#   tools/setup.sh lint           the above, and clang-format, clang-tidy
#   tools/setup.sh wheel          what `pip install .` compiles with and pip does not bring: compiler and headers
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-build}

headers=(g++ librandom123-dev nlohmann-json3-dev libxxhash-dev libkissfft-dev zlib1g-dev libboost-dev)
packages=("${headers[@]}" cmake ninja-build pkg-config python3 libopenblas0-pthread libcli11-dev
          libhdf5-dev libeigen3-dev libgtest-dev libbenchmark-dev librsvg2-bin)
case $what in
  wheel) packages=("${headers[@]}") ;;
  build) ;;
  test)  packages+=(python3-venv clang libclang-rt-dev chromium chromium-driver) ;;
  lint)  packages+=(python3-venv clang libclang-rt-dev clang-format clang-tidy) ;;
  *) echo "tools/setup.sh: unknown argument '$what' (build, test, lint or wheel)" >&2; exit 2 ;;
esac

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
if ((${#missing[@]})); then
  sudo=''; [ "$(id -u)" = 0 ] || sudo='sudo -n'
  if ! command -v apt-get >/dev/null || { [ -n "$sudo" ] && ! $sudo true 2>/dev/null; }; then
    echo "setup: missing ${missing[*]} (names of Debian's packages); install them and try again" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ "$what" = test ] || [ "$what" = lint ]; then
  stamp=build/venv/.installed
  if ! cmp -s tools/requirements.txt "$stamp"; then
    echo "setup: Python environment in build/venv"
    python3 -m venv build/venv 2>/dev/null || /usr/bin/python3 -m venv build/venv
    build/venv/bin/pip install -q --disable-pip-version-check -r tools/requirements.txt
    cp tools/requirements.txt "$stamp"
  fi
fi
