#!/usr/bin/env bash
# card_pack.sh SOURCE BUILD SCRATCH: checks that the pack of ./dev card holds everything that its run.sh needs.
set -euo pipefail
source_tree=$1 build=$2 scratch=$3

fail() { echo "$*" >&2; exit 1; }

rm -rf "$scratch"
mkdir -p "$scratch/llama.cpp"/{cmake,include,src,common,vendor,ggml/src/ggml-{base,cuda,vulkan,cpu/arch/{x86,arm}},tools/{llama-bench,batched-bench,server}}
for file in CMakeLists.txt LICENSE ggml/src/ggml-cuda/mmq.cu ggml/src/ggml-vulkan/big.cpp ggml/src/ggml-cpu/arch/x86/quants.c \
  ggml/src/ggml-cpu/arch/arm/quants.c ggml/src/ggml.c tools/llama-bench/main.cpp tools/server/main.cpp; do
  echo text >"$scratch/llama.cpp/$file"
done

. "$source_tree/dev"
. "$source_tree/bench/card/pack.sh"
folder=$scratch/packed
card_pack "$folder" "$build"
card_peer "$folder" "$scratch/llama.cpp"
card_about "$folder" "llama.cpp"

# A folder with other files stays as it is. An earlier pack is replaced.
mkdir "$scratch/mine"
echo text >"$scratch/mine/notes"
! (card_pack "$scratch/mine" "$build") 2>"$scratch/refusal" || fail "a folder with other files was packed into"
grep -q 'holds other files' "$scratch/refusal" || fail "the refusal says: $(cat "$scratch/refusal")"
[ -s "$scratch/mine/notes" ] || fail "a file that was in the folder is gone"
! (card_pack "$folder" "$scratch/mine") 2>"$scratch/refusal" || fail "a build without a program was packed"
[ -s "$folder/about.json" ] || fail "the earlier pack is gone"
card_pack "$folder" "$build"
card_peer "$folder" "$scratch/llama.cpp"
card_about "$folder" "llama.cpp"

for file in run.sh about.json bin/tandem bin/tandem-prove card/card.py card/steps.py peer/CMakeLists.txt data/mixed-models/first.gguf \
  data/arch-models/golden.json data/tiny-models/stories260K-F16.gguf data/tiny-models/golden/golden.json spare/libOpenCL.so.1 spare/libvulkan.so.1; do
  [ -s "$folder/$file" ] || fail "$file is not packed"
done
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$folder/about.json"

# The pack has every library that the program needs, and none that must be the machine's own.
for name in $(ldd "$build/tandem" "$build/tandem-prove" | sed -n 's/^\s*\(\S*\) => .*/\1/p' | sort -u); do
  case $name in
    libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libasan.* | libubsan.* | libtsan.*) wanted=no ;;
    *) wanted=yes ;;
  esac
  carried=no
  if [ -e "$folder/lib/$name" ] || [ -e "$folder/spare/$name" ]; then carried=yes; fi
  [ "$wanted" = "$carried" ] || [[ $name == lib[atu]*san.* ]] || fail "$name: wanted $wanted, carried $carried"
done

listed=$(tar -tzf "$folder/peer/llama.cpp.tar.gz")
for file in ./ggml/src/ggml-cuda/mmq.cu ./ggml/src/ggml-cpu/arch/x86/quants.c ./ggml/src/ggml.c ./tools/llama-bench/main.cpp; do
  grep -qx "$file" <<<"$listed" || fail "$file is not in the archive"
done
for file in ./ggml/src/ggml-vulkan/big.cpp ./ggml/src/ggml-cpu/arch/arm/quants.c ./tools/server/main.cpp; do
  ! grep -qx "$file" <<<"$listed" || fail "$file is in the archive, and not needed"
done

# The pack's script makes a model and writes its files, with only the packed libraries.
bash "$folder/run.sh" --small --no-peer --seconds 60 --steps 'machine;model' --out "$scratch/out" >/dev/null 2>"$scratch/messages" || echo "run.sh: status $?" >>"$scratch/messages"
for file in card.json card.md log.txt; do [ -s "$scratch/out/$file" ] || fail "run.sh did not write $file: $(cat "$scratch/messages")"; done
grep -q '| model | stories260K, Q4_0, random weights' "$scratch/out/card.md" || fail "no model: $(cat "$scratch/out/card.md")"
