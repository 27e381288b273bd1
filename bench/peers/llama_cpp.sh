#!/usr/bin/env bash
# Builds the peer, llama.cpp, for bench/peers/compare.py, and makes the variants of a model with its quantiser.
# Its source comes from PyPI (the tree inside llama-cpp-python's source distribution); everything is kept in
# ${XDG_CACHE_HOME:-~/.cache}/tandem/peers, nothing in this repository.
set -euo pipefail

version=0.3.36
sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tandem/peers
source=$cache/llama_cpp_python-$version/vendor/llama.cpp
build=$cache/llama_cpp-$version-build

say() { printf '%s\n' "$*" >&2; }
die() { say "llama_cpp.sh: $*"; exit 1; }

help() {
  cat <<'TEXT'
usage: bench/peers/llama_cpp.sh VERB

  build                    fetch and compile llama.cpp for this machine's processor; prints the folder of its programs
  variants MODEL.gguf      make its Q4_0, Q8_0 and F16 variants; prints "TYPE FILE" of all four, a line each
TEXT
}

fetch() {
  [ -d "$source" ] && return
  mkdir -p "$cache"
  local archive=$cache/llama_cpp_python-$version.tar.gz
  # Only the archive is wanted: its own set-up would build a Python module.
  python3 -m pip download -q --no-deps --no-build-isolation --no-binary :all: -d "$cache" "llama-cpp-python==$version" \
    >&2 || [ -f "$archive" ] || die "pip could not fetch llama-cpp-python $version"
  printf '%s  %s\n' "$sha256" "$archive" | sha256sum --check --quiet >&2 || die "not the expected archive: $archive"
  tar -xzf "$archive" -C "$cache"
}

build() {
  if [ ! -x "$build/bin/llama-bench" ]; then
    fetch
    cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DLLAMA_CURL=OFF \
      -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF >&2
    cmake --build "$build" --target llama-bench llama-quantize llama-completion >&2
  fi
  printf '%s\n' "$build/bin"
}

variants() {
  local model=$1 type name out
  [ -f "$model" ] || die "no such model: $model"
  build >/dev/null
  name=$(basename "$model" .gguf)
  mkdir -p "$cache/models"
  printf '%s %s\n' "${name##*.}" "$model"
  for type in Q4_0 Q8_0 F16; do
    out=$cache/models/${name%.*}.$type.gguf
    if [ ! -f "$out" ]; then
      "$build/bin/llama-quantize" --allow-requantize "$model" "$out.part" "$type" >&2
      mv "$out.part" "$out"
    fi
    printf '%s %s\n' "$type" "$out"
  done
}

case ${1:-} in
  build) build ;;
  variants) [ $# = 2 ] || die "variants MODEL.gguf"; variants "$2" ;;
  help | --help) help ;;
  *) help >&2; exit 2 ;;
esac
