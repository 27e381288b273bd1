# Packs the programs that measure this tree on a machine with a graphics card and nothing else: ./dev card. ./dev
# sources this file, which uses its functions say, die and build.

card_most_bytes=$((55 * 1024 * 1024))

# Libraries that a bare machine has anyway, or that must be its own: a driver may need a newer one than ours.
card_is_of_the_system() {
  case $1 in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux* | linux-vdso* | libstdc++.so.* | libgcc_s.so.*) return 0 ;;
  esac
  return 1
}
# Loaders, and libraries that a card's driver needs on a machine without a display. They are used only where the machine
# has none. NVIDIA's Vulkan driver shows no device without libEGL.
card_spares=(libOpenCL.so.1 libvulkan.so.1 libGLdispatch.so.0 libEGL.so.1 libGLX.so.0 libGL.so.1 libOpenGL.so.0 libGLESv2.so.2 libX11.so.6 libXext.so.6 libxcb.so.1 libXau.so.6 libXdmcp.so.6 libbsd.so.0 libmd.so.0)

# card_libraries PROGRAM...: prints "NAME PATH" of each library that they need, except the system's.
card_libraries() {
  ldd "$@" | sed -n 's/^\s*\(\S*\) => \(\/\S*\) .*/\1 \2/p' | sort -u | while read -r name path; do
    card_is_of_the_system "$name" || printf '%s %s\n' "$name" "$path"
  done
}

card_is_spare() {
  local spare
  for spare in "${card_spares[@]}"; do [ "$1" != "$spare" ] || return 0; done
  return 1
}

# Packing empties its folder. So the folder must be missing, empty, or made by ./dev card before.
card_may_empty() {
  local folder=$1
  [ ! -L "$folder" ] || die "$folder is a link; name the folder itself"
  [ ! -e "$folder" ] || [ -d "$folder" ] || die "$folder is no folder"
  if [ -d "$folder" ] && [ -n "$(ls -A "$folder")" ] && [ ! -f "$folder/card/tandem_steps.py" ]; then
    die "$folder holds other files; name a new folder for --out (results are run.sh's --out)"
  fi
}

# card_pack FOLDER BUILD: packs the program of that build, its libraries, models with golden logits, and the steps.
card_pack() {
  local folder=$1 build=$2 name path spare
  for name in tandem tandem-prove; do [ -x "$build/$name" ] || die "$build/$name is not there; ./dev build release tandem makes it"; done
  card_may_empty "$folder"
  rm -rf "$folder"
  mkdir -p "$folder"/{bin,lib,spare,card,peer,data/tiny-models}
  cp "$build/tandem" "$build/tandem-prove" "$folder/bin/"
  strip "$folder/bin/tandem" "$folder/bin/tandem-prove" 2>/dev/null || say "dev: there is no strip; the programs stay as they are"
  while read -r name path; do
    if card_is_spare "$name"; then cp -L "$path" "$folder/spare/$name"; else cp -L "$path" "$folder/lib/$name"; fi
  done < <(card_libraries "$build/tandem" "$build/tandem-prove")
  for spare in "${card_spares[@]}"; do
    path=$(ldconfig -p | sed -n "s/^\s*$spare (.*x86-64.*) => //p" | head -n 1)
    [ -z "$path" ] || cp -L "$path" "$folder/spare/$spare"
  done
  cp "$root/bench/card/run.sh" "$folder/"
  cp "$root"/bench/card/*.py "$folder/card/"
  cp "$root/bench/card/peer/CMakeLists.txt" "$folder/peer/"
  cp -r "$root/tests/data/arch-models" "$root/tests/data/mixed-models" "$folder/data/"
  cp -r "$root/tests/data/tiny-models/." "$folder/data/tiny-models/"
}

# card_peer FOLDER SOURCE: packs llama.cpp, without the files that its CUDA build of llama-bench does not read.
card_peer() {
  local folder=$1 source=$2 left_out=() part
  for part in "$source"/ggml/src/ggml-*/ "$source"/ggml/src/ggml-cpu/arch/*/ "$source"/ggml/src/ggml-cpu/{spacemit,kleidiai}/; do
    case $part in */ggml-cpu/ | */ggml-cuda/ | */arch/x86/) ;; *) part=${part%/} left_out+=("--exclude=./${part#"$source"/}") ;; esac
  done
  (cd "$source" && tar -czf "$folder/peer/llama.cpp.tar.gz" "${left_out[@]}" ./CMakeLists.txt ./LICENSE ./cmake ./include ./src ./common ./vendor ./ggml \
    ./tools/llama-bench ./tools/batched-bench) || die "llama.cpp's source could not be packed from $source"
}

# Prints the place of llama.cpp's source: TANDEM_PEER_SOURCE, or the tree that ./bench/peers/llama_cpp.sh has fetched.
# Prints nothing if there is none.
card_peer_source() {
  local fetched
  fetched=$("$root/bench/peers/llama_cpp.sh" where)
  if [ -n "${TANDEM_PEER_SOURCE:-}" ]; then printf '%s\n' "$TANDEM_PEER_SOURCE"; elif [ -d "$fetched" ]; then printf '%s\n' "$fetched"; fi
}

card_about() {
  local folder=$1 peer=$2 commit changed=''
  commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)
  [ -z "$(git -C "$root" status --porcelain -uno 2>/dev/null)" ] || changed=' with changes'
  printf '{"program": "tandem, commit %s%s", "peer": "%s"}\n' "$commit" "$changed" "$peer" >"$folder/about.json"
}

card() {
  local folder="$root/build/card" fetch='' source peer='' bytes
  while [ $# -gt 0 ]; do
    case $1 in
      --peer) fetch=1; shift ;;
      --out) [ $# -ge 2 ] || { say "dev: --out needs a folder"; exit 2; }; folder=$2; shift 2 ;;
      *) say "dev: ./dev card does not know '$1'"; exit 2 ;;
    esac
  done
  card_may_empty "$folder"  # checked before minutes of building
  setup
  build release tandem tandem_prove
  [ -z "$fetch" ] || "$root/bench/peers/llama_cpp.sh" source >/dev/null || die "llama.cpp's source could not be fetched"
  source=$(card_peer_source)
  card_pack "$folder" "$root/build/release"
  if [ -n "$source" ]; then
    card_peer "$folder" "$source"
    peer="llama.cpp of $(basename "$(dirname "$(dirname "$source")")")"
  else
    say "dev: without llama.cpp; ./dev card --peer fetches its source (77 MB)"
  fi
  card_about "$folder" "$peer"
  bytes=$(du -sb "$folder" | cut -f1)
  [ "$bytes" -le "$card_most_bytes" ] || die "$folder has $bytes bytes; at most $card_most_bytes should be carried"
  say "$folder: $((bytes / 1048576)) MiB. Where the card is: bash card/run.sh --out results --seconds 480"
}
