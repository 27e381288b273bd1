# The wheel, as `pip wheel .` builds it. It is installed where nothing else is, judged, and tested there. ./dev sources
# this file, which uses its root, say, die, need, provide, setup and build.

most_wheel_bytes=$((15 << 20))

probe_wheel() {
  need python3-dev "the headers of Python" test -f "$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h"
  need python3-venv "makes environments" python3 -c "import ensurepip"
}

# needs_of FILE...: the libraries that they load from the system, one a line, without those of the compiler and of libc.
needs_of() {
  ldd "$@" | awk '$2 == "=>" { print $1 }' | grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|librt)\.so' | sort -u
}

# newest SYMBOLS FILE...: the newest version of GLIBC or GLIBCXX that they ask for.
newest() {
  local which=$1
  shift
  objdump -T "$@" | grep -oE "\(?${which}_[0-9.]+" | tr -d '(' | sort -uV | tail -n 1
}

wheel() {
  [ $# -eq 0 ] || { say "dev: ./dev wheel takes nothing, and not '$*'"; exit 2; }
  setup >&2
  provide probe_wheel
  build release tandem tandem_c >&2
  local folder="$root/build/wheel" file bytes
  rm -rf "$folder/new" "$folder/clean"
  python3 -m pip wheel "$root" --no-deps --quiet --disable-pip-version-check -w "$folder/new" -C build-dir="$folder/build" >&2 ||
    die "the wheel could not be built (see above)"
  file=$(find "$folder/new" -name '*.whl')
  bytes=$(stat -c %s "$file")
  python3 -m venv "$folder/clean" && "$folder/clean/bin/pip" install --quiet --disable-pip-version-check "$file" pytest >&2 ||
    die "the wheel could not be installed in a clean environment (see above)"
  local package
  package=$(cd / && "$folder/clean/bin/python" -c 'import os, tandem; print(os.path.dirname(tandem.__file__))') || die "the wheel cannot be imported"
  say "$(basename "$file"): $bytes bytes"
  say "needs $(needs_of "$package"/*.so "$package/tandem-prove" | tr '\n' ' ')and $(newest GLIBC "$package"/*.so), $(newest GLIBCXX "$package"/*.so)"
  [ "$bytes" -le "$most_wheel_bytes" ] || die "the wheel has more than $most_wheel_bytes bytes"
  local model="$root/tests/data/tiny-models/stories260K-F16.gguf" chat=''
  if [ -f "$(model_path)" ]; then chat=$(model_path); fi
  (cd "$folder" && env -u PYTHONPATH PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 TANDEM_TEST_PROGRAM="$root/build/release/tandem" \
    TANDEM_TEST_LIBRARY="$root/build/release/libtandem.so" TANDEM_TEST_MODEL="$model" TANDEM_TEST_CHAT_MODEL="$chat" \
    "$folder/clean/bin/python" -B -m pytest -q -p no:cacheprovider "$root/tests/python") || die "the package's tests fail in a clean environment"
}
