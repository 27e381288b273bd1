#!/usr/bin/env bash
# Builds the peer, llama.cpp, for bench/peers/compare.py, and makes variants of a model with its quantiser. The source
# comes from PyPI: it is the tree inside llama-cpp-python's source distribution. All files are kept in
# ${XDG_CACHE_HOME:-~/.cache}/tandem/peers, none in this repository.
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
  server                   the same for llama-server alone, without its page; prints the folder
  source                   fetch its source only; prints the folder
  where                    print the folder of its source, whether it is there or not
  variants MODEL.gguf      make its Q4_0, Q8_0 and F16 variants; prints "TYPE FILE" of all four, a line each
TEXT
}

fetch() {
  [ -d "$source" ] && return
  mkdir -p "$cache"
  local archive=$cache/llama_cpp_python-$version.tar.gz
  # Only the archive is needed. pip builds no module of it, but first asks its build system for its name.
  python3 -m pip download -q --no-deps --no-binary :all: -d "$cache" "llama-cpp-python==$version" \
    >&2 || [ -f "$archive" ] || die "pip could not fetch llama-cpp-python $version"
  printf '%s  %s\n' "$sha256" "$archive" | sha256sum --check --quiet >&2 || die "not the expected archive: $archive"
  tar -xzf "$archive" -C "$cache"
}

# Debian 12's GCC drops stores to a tile configuration (GCC bug 114098), and llama.cpp then crashes on processors with
# AMX. This succeeds if a program that is built with these flags, and has a tile configuration of its own, survives.
can_configure_tiles() {
  local folder result=0
  folder=$(mktemp -d)
  cat >"$folder/tiles.cpp" <<'CODE'
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
struct Tiles {
  unsigned char palette, start, reserved[14];
  unsigned short columns[16];
  unsigned char rows[16];
};
int main() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return 1;
  alignas(64) Tiles tiles = {};
  tiles.palette = 1;
  for (int i = 0; i < 8; ++i) tiles.rows[i] = 16, tiles.columns[i] = 64;
  _tile_loadconfig(&tiles);
  _tile_zero(7);
  _tile_release();
}
CODE
  "${CXX:-c++}" -O3 -march=native "$@" -o "$folder/tiles" "$folder/tiles.cpp" && "$folder/tiles" || result=1
  rm -rf "$folder"
  return "$result"
}

# compile TARGET...: configures, and makes the programs.
compile() {
  fetch
  local flags="" keep_stores="-fno-tree-dse -fno-dse"
  # shellcheck disable=SC2086
  if grep -qw amx_tile /proc/cpuinfo && { ! can_configure_tiles && can_configure_tiles $keep_stores; } 2>/dev/null; then
    flags=$keep_stores
    say "llama_cpp.sh: compiling with $flags, since this compiler breaks AMX without"
  fi
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
    -DCMAKE_CXX_FLAGS="$flags" -DLLAMA_CURL=OFF \
    -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF >&2
  cmake --build "$build" --target "$@" >&2
}

build() {
  [ -x "$build/bin/llama-batched-bench" ] || compile llama-bench llama-quantize llama-completion llama-batched-bench
  printf '%s\n' "$build/bin"
}

server() {
  [ -x "$build/bin/llama-server" ] || compile llama-server
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
  server) server ;;
  source) fetch; printf '%s\n' "$source" ;;
  where) printf '%s\n' "$source" ;;
  variants) [ $# = 2 ] || die "variants MODEL.gguf"; variants "$2" ;;
  help | --help) help ;;
  *) help >&2; exit 2 ;;
esac
