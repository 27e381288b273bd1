# Compiles FILE, a GLSL compute shader, once for each kernel that it lists, and checks the result. Writes OUTPUT, a C++
# file with the SPIR-V words. Kernels behind "// compiled kernels:" need a newer compiler than Debian 12 has; their words
# are those of compiled/KERNEL.spv (shaders/README.md). Run with cmake -P; GLSLANG and SPIRV_VAL are the programs.
get_filename_component(stem "${FILE}" NAME_WE)
file(STRINGS "${FILE}" listed REGEX "^// kernels: ")
if(listed)
  string(REGEX REPLACE "^// kernels: *" "" kernels "${listed}")
  string(REGEX REPLACE "[ \t]+" ";" kernels "${kernels}")
else()
  set(kernels "${stem}")
endif()

set(binary "${OUTPUT}.spv")
set(arrays "")
set(entries "")
# Adds the words of a kernel to the tables.
function(embed kernel binary)
  file(READ "${binary}" words HEX)
  string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${words}")
  string(REGEX REPLACE "(0x........,0x........,0x........,0x........,0x........,0x........,0x........,0x........,)" "\\1\n" words "${words}")
  string(APPEND arrays "constexpr uint32_t k_${stem}_${kernel}[] = {\n${words}};\n")
  string(APPEND entries "    {\"${stem}\", \"${kernel}\", k_${stem}_${kernel}},\n")
  set(arrays "${arrays}" PARENT_SCOPE)
  set(entries "${entries}" PARENT_SCOPE)
endfunction()
foreach(kernel IN LISTS kernels)
  set(macro "")
  if(listed)
    set(macro "-DKERNEL_${kernel}")
  endif()
  # glslang 12 may never end, and allocates more and more memory, if `precise` values depend on themselves through a
  # loop and a function. The timeout stops it.
  execute_process(COMMAND "${GLSLANG}" -V --target-env vulkan1.2 ${macro} -o "${binary}" "${FILE}" TIMEOUT 600
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "glslangValidator does not compile ${kernel} of ${FILE} (${status}):\n${output}")
  endif()
  execute_process(COMMAND "${SPIRV_VAL}" --target-env vulkan1.2 "${binary}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "spirv-val refuses ${kernel} of ${FILE}:\n${output}")
  endif()
  embed(${kernel} "${binary}")
endforeach()
file(STRINGS "${FILE}" compiled REGEX "^// compiled kernels: ")
string(REGEX REPLACE "^// compiled kernels: *" "" compiled "${compiled}")
string(REGEX REPLACE "[ \t]+" ";" compiled "${compiled}")
get_filename_component(folder "${FILE}" DIRECTORY)
foreach(kernel IN LISTS compiled)
  embed(${kernel} "${folder}/compiled/${kernel}.spv")
endforeach()
file(REMOVE "${binary}")
file(WRITE "${OUTPUT}" "#include \"shaders/embedded.h\"

namespace tandem {
namespace {
${arrays}
constexpr EmbeddedShader k_${stem}[] = {
${entries}};
}  // namespace

std::span<const EmbeddedShader> shaders_of_${stem}();
std::span<const EmbeddedShader> shaders_of_${stem}() { return k_${stem}; }
}  // namespace tandem
")
