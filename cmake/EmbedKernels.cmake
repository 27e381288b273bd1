# Writes OUTPUT, a C++ file with one table of the texts of all FILES (separated by '|'). Run with cmake -P. Some
# compilers limit a raw string literal to 64 KiB; the sources are far smaller.
string(REPLACE "|" ";" files "${FILES}")
set(table "#include \"kernels/embedded.h\"\n\nnamespace tandem {\nnamespace {\nconstexpr EmbeddedKernel kKernels[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(stem "${file}" NAME_WE)
  file(READ "${file}" text)
  string(APPEND table "{\"${stem}\", R\"tandem_cl(${text})tandem_cl\"},\n")
endforeach()
string(APPEND table "};\n}  // namespace\nstd::span<const EmbeddedKernel> embedded_kernels() { return kKernels; }\n}  // namespace tandem\n")
file(WRITE "${OUTPUT}" "${table}")
