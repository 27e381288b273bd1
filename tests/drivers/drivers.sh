# Drivers of other projects: how each is fetched, how the loaders see it alone, and the table of test results
# (docs/drivers.md). ./dev sources this file, which uses its say, die, build and summarize. Nothing is installed: a
# fetched driver goes to build/drivers/NAME.

driver_names=(pocl lavapipe rusticl intel swiftshader pocl3 oclgrind)
# The versions that docs/drivers.md describes. pip installs exactly these.
intel_packages=(intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0)
pocl3_packages=(pocl-binary-distribution==3.0)

driver_interface() {
  case $1 in
    pocl | pocl3 | rusticl | intel | oclgrind) echo opencl ;;
    lavapipe | swiftshader) echo vulkan ;;
    *) say "dev: unknown driver '$1' (${driver_names[*]})"; exit 2 ;;
  esac
}

# fetch_debian FOLDER PACKAGE...: unpacks the packages' files.
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

# fetch_wheels FOLDER PARTS PACKAGE...: unpacks all files of the packages into the folder lib. With PARTS "tree" they
# keep their own paths below it. Otherwise the libraries lie in lib itself.
fetch_wheels() {
  local folder=$1 parts=$2
  shift 2
  mkdir -p "$folder/wheels"
  say "fetching $* from PyPI (60 to 240 MB)"
  python3 -m pip download --only-binary=:all: --no-cache-dir --disable-pip-version-check --quiet --dest "$folder/wheels" \
    "$@" >&2 || die "the download of $* failed; check the network"
  python3 - "$folder" "$parts" <<'PYTHON' || die "the packages could not be unpacked into $folder (disk full?)"
import pathlib, shutil, sys, zipfile
folder = pathlib.Path(sys.argv[1])
(folder / "lib").mkdir(exist_ok=True)
for wheel in sorted((folder / "wheels").glob("*.whl")):
    with zipfile.ZipFile(wheel) as archive:
        if sys.argv[2] == "tree":
            archive.extractall(folder / "lib")
            continue
        for name in archive.namelist():
            if ".data/data/lib/" in name and not name.endswith("/"):
                with archive.open(name) as source, open(folder / "lib" / pathlib.Path(name).name, "wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
PYTHON
  (cd "$folder/wheels" && printf '%s\n' *.whl | sed 's/-py.*//; s/-/ /' >"$folder/version")
  rm -rf "$folder/wheels"
}

installed_version() { dpkg-query -W -f '${Package} ${Version}\n' "$1" 2>/dev/null | head -n 1; }

# A hash of the code that fetches a driver, and of its place, because manifests name the folder. If the hash changes,
# the driver is fetched again.
fetch_recipe() {
  { declare -f fetch_driver fetch_debian fetch_wheels; echo "${intel_packages[@]}" "${pocl3_packages[@]}" "$root"; cat "$root/tests/drivers/libclc_path.c"; } | sha256sum
}

# Puts a driver and a manifest that names only this driver into its folder, once.
fetch_driver() {
  local name=$1 folder="$root/build/drivers/$1" manifest
  if [ -f "$folder/.ready" ] && [ "$(cat "$folder/.ready")" = "$(fetch_recipe)" ]; then return 0; fi
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
      fetch_wheels "$folder" libraries "${intel_packages[@]}"
      echo "$folder/lib/libintelocl.so" >"$folder/vendors/intel.icd" ;;
    pocl3)
      fetch_wheels "$folder" tree "${pocl3_packages[@]}"
      find "$folder/lib" -name 'libpocl-*.so' >"$folder/vendors/pocl.icd" ;;
    oclgrind)
      [ -f /usr/lib/oclgrind/liboclgrind-rt-icd.so ] || die "Oclgrind is not installed: apt-get install oclgrind"
      echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >"$folder/vendors/oclgrind.icd"
      installed_version oclgrind >"$folder/version" ;;
    swiftshader)
      fetch_debian "$folder" chromium-common
      printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
        "$folder/usr/lib/chromium/libvk_swiftshader.so" >"$folder/driver.json" ;;
  esac
  fetch_recipe >"$folder/.ready"
}

# Makes one driver the only one for this process and its children. Compiled kernels and verdicts are kept beside it.
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
    oclgrind) export OCLGRIND_DATA_RACES=1 OCLGRIND_MAX_ERRORS=20 ;;
  esac
  # The default model stays in the user's cache.
  export TANDEM_MODEL=${TANDEM_MODEL:-$(model_path)} XDG_CACHE_HOME="$folder/cache"
  mkdir -p "$XDG_CACHE_HOME"
}

# The tests that run on a driver without a filter: all tests that use a device of its interface. They cover every
# operator in every format, their bits, faults, ways of waiting, whole models against golden values, and every plan.
driver_tests() {
  local here=$1
  local of_any='(device/(PairSelfTest|Proven\.|gpu/DriverPages)|run/(Plans/|Deep|Contract\.|TinyEngine|Soak|Of/Workers|Devices/GoldenTypes))'
  echo "^engine/($of_any|device/$here/|device/Ways/${here^}Faults|run/${here^}/|(device|run)/.*[/_]$here)"
}
# Oclgrind runs kernels instruction by instruction, and reports races and accesses outside of buffers. These tests have
# kernels of graphics cards with local memory, in sizes that it runs within minutes.
simulated_tests() {
  local kernels='(RunsKernel.of_weights|RmsNorm|Softmax|SwiGlu|AddKernel|BiasKernel|Lanes|ActI8Kernel.of_stacks|SelectionKernel.top_k_finds|AttentionKernel.(append|survives|equals))'
  echo "^engine/device/opencl/kernels/Family/$kernels.*/simt"
}
# What Oclgrind reports; it does not fail the test.
reports_of_simulator='data race at|Invalid (read|write)|[Bb]arrier divergence'

# The tests to leave out of these: other interfaces, and plans without a driver.
other_tests() {
  if [ "$1" = opencl ]; then echo 'vulkan|/host_only|/npu_only|/proof/'; else echo 'opencl|/host_only|/npu_only|/proof/|DriverPages|TinyEngine\..*_the_host_|Deep|Contract\.|Of/Workers'; fi
}

# Prints why Tandem does not use the driver of this process, or nothing if it does.
device_refusal() {
  (unset REQUIRE_OPENCL REQUIRE_VULKAN; "$root/build/release/tandem" devices --json 2>/dev/null) | python3 -c '
import json, sys
found = [device for device in json.load(sys.stdin)["devices"] if device["id"].startswith(sys.argv[1])]
if not found:
    print("no device of it was found")
elif all("error" in device for device in found):
    print(found[0]["error"])' "$1"
}

# test_driver NAME [FILTER]: runs the tests on one driver. junit.xml, and the reason why its device is refused, lie in
# build/drivers/NAME. Status 0 if every test passed, or failed for a recorded reason (tests/drivers/judge.py).
test_driver() (
  name=$1
  interface=$(driver_interface "$name")
  filter=${2:-$(driver_tests "$interface")} leave_out=() whole=()
  [ -n "${2:-}" ] || { leave_out=(-E "$(other_tests "$interface")") whole=(--whole); }
  if [ "$name" = oclgrind ] && [ -z "${2:-}" ]; then filter=$(simulated_tests) leave_out=(); fi
  fetch_driver "$name"
  folder="$root/build/drivers/$name"
  use_driver "$name"
  unset TANDEM_DEVICE TANDEM_LOG
  rm -f "$folder/junit.xml"
  device_refusal "$interface" >"$folder/device_refusal" || die "tandem devices does not run with $name"
  # For a refused driver, test only that the refusal has the recorded reason.
  if [ -s "$folder/device_refusal" ]; then filter="ProvenOf\..*/$interface" leave_out=(); fi
  ctest --test-dir "$root/build/release" --parallel "$(cores)" --output-on-failure --no-tests=error \
    --test-output-size-passed 65536 --timeout 1800 --output-junit "$folder/junit.xml" -R "$filter" "${leave_out[@]}" || say "ctest: status $?"
  [ -f "$folder/junit.xml" ] || die "no test ran on $name"
  python3 -B "$root/tests/drivers/judge.py" "$name" "$folder" "${whole[@]}" || return 1
  if [ "$name" = oclgrind ] && grep -nE -m 5 "$reports_of_simulator" "$folder/junit.xml" >&2; then
    die "the simulator reports faults of kernels ($folder/junit.xml)"
  fi
)

# drivers [NAME...]: tests these drivers, or all, and prints a table.
drivers() {
  local name names=("$@") table="$root/build/drivers/table.md" status=0 log
  [ ${#names[@]} -gt 0 ] || names=("${driver_names[@]}")
  for name in "${names[@]}"; do driver_interface "$name" >/dev/null; done
  setup
  build release
  (fetch_model) || say "dev: going on without the default model"
  mkdir -p "$root/build/drivers"
  { echo '| driver | version | passed | failed | refused |'; echo '| --- | --- | ---: | ---: | --- |'; } >"$table"
  for name in "${names[@]}"; do
    log="$root/build/drivers/$name.log"
    say "--- $name (log: ${log#"$root/"})"
    if test_driver "$name" >"$log" 2>&1; then say "$name: as it should be"; else status=1; fi
    tail -n 1 "$log" >&2
    if [ -f "$root/build/drivers/$name/junit.xml" ]; then
      # The status of the tests is already known.
      python3 -B "$root/tests/drivers/judge.py" "$name" "$root/build/drivers/$name" --whole --row >>"$table" || status=1
    else
      echo "| $name | | could not be run | | |" >>"$table"
    fi
  done
  cat "$table"
  return $status
}
