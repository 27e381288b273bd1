# Programs of others that ask the server: OpenAI's client, clients on top of it, and a browser. ./dev sources this file,
# which uses its say, die, need, provide and build. What comes from PyPI goes to build/clients; nothing of it is installed.

openai_packages=(openai==3.57.0)
other_packages=(langchain-openai==1.7.4 litellm==1.110.2 llm==0.36 openai==3.57.0)
openapi_packages=(openapi-spec-validator==0.7.1)
axe_package=axe-core-python==0.1.0
axe_sha256=697ea6c7edff0fe289b7bbecf1ff7b9015249bc834b409a348cd060df80aeba0

probe_browser() {
  need "chromium chromium-driver" "the tests of the page run in it" chromedriver --version
  need python3-selenium "drives the browser" /usr/bin/python3 -c "import selenium"
}

# fetch_packages FOLDER PACKAGE...: installs the packages into the folder, unless they are there.
fetch_packages() {
  local folder=$1
  shift
  [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ] || return 0
  rm -rf "$folder"
  mkdir -p "$folder"
  say "fetching $* from PyPI"
  python3 -m pip install --only-binary=:all: --no-cache-dir --disable-pip-version-check --quiet --target "$folder" "$@" >&2 ||
    die "the download of $* failed; check the network"
  printf '%s' "$*" >"$folder/packages"
}

clients() {
  local which=${1:-all} filter=() status=0 folder="$root/build/clients"
  [[ " all openai others openapi page " == *" $which "* ]] ||
    { say "dev: ./dev clients knows openai, others, openapi and page, and not '$which'"; exit 2; }
  [ $# -le 2 ] || { say "dev: ./dev clients takes a name and a test"; exit 2; }
  [ $# -lt 2 ] || filter=("$2")
  setup >&2
  build release tandem >&2
  if [[ "$which" == all || "$which" == openai ]]; then
    fetch_packages "$folder/openai" "${openai_packages[@]}"
    PYTHONPATH="$folder/openai" python3 -B "$root/tests/clients/openai_suite.py" "$root/build/release/tandem" "${filter[@]}" || status=1
  fi
  if [[ "$which" == all || "$which" == others ]]; then
    fetch_packages "$folder/others" "${other_packages[@]}"
    PYTHONPATH="$folder/others" python3 -B "$root/tests/clients/others_suite.py" "$root/build/release/tandem" \
      "${filter[@]}" || status=1
  fi
  if [[ "$which" == all || "$which" == openapi ]]; then
    fetch_packages "$folder/openapi" "${openapi_packages[@]}"
    PYTHONPATH="$folder/openapi" python3 -B "$root/tests/clients/openapi_suite.py" "$root/build/release/tandem" \
      "${filter[@]}" || status=1
  fi
  if [[ "$which" == all || "$which" == page ]]; then
    provide probe_browser
    fetch_packages "$folder/axe" --no-deps "$axe_package"
    has_sha256 "$folder/axe/axe_core_python/axe.min.js" "$axe_sha256" || die "axe has the wrong checksum"
    TANDEM_AXE="$folder/axe/axe_core_python/axe.min.js" /usr/bin/python3 -B "$root/tests/clients/page_suite.py" \
      "$root/build/release/tandem" "${filter[@]}" || status=1
  fi
  return $status
}
