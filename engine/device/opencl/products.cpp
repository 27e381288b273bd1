#include "engine/device/opencl/products.h"

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/matrix_unit_case.h"
#include "engine/device/gpu/self_test_parts.h"
#include "packed/act_i8.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

constexpr const char* kOfNibbles = " -DBITS=4";  // options of products_probe.cl: bits of a code
constexpr const char* kOfBytes = " -DBITS=8";

cl::Buffer buffer_of(ProgramCache& programs, size_t bytes, void* from, const std::string& object) {
  cl_int code = CL_SUCCESS;
  const cl_mem_flags flags = CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0);
  cl::Buffer buffer(programs.handle().context, flags, bytes, from, &code);
  check(code, "clCreateBuffer", object);
  return buffer;
}

// Runs kernel(words, sums) with this number of work-items and reads the sums back.
void run_probe(cl::Kernel& kernel, size_t items, std::span<const uint32_t> words, std::span<int32_t> sums,
               ProgramCache& programs, const cl::CommandQueue& queue, const std::string& object) {
  const cl::Buffer from = buffer_of(programs, words.size_bytes(), const_cast<uint32_t*>(words.data()), object);
  const cl::Buffer to = buffer_of(programs, sums.size_bytes(), nullptr, object);
  cl_uint index = 0;
  for (const cl::Buffer* buffer : {&from, &to}) {
    const cl_mem memory = (*buffer)();
    const cl_ulong offset = 0;
    check(kernel.setArg(index++, sizeof memory, &memory), "clSetKernelArg", object);
    check(kernel.setArg(index++, sizeof offset, &offset), "clSetKernelArg", object);
  }
  check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(items), cl::NDRange(1)), "clEnqueueNDRangeKernel",
        object);
  check(queue.finish(), "clFinish", object);
  check(queue.enqueueReadBuffer(to, CL_TRUE, 0, sums.size_bytes(), sums.data()), "clEnqueueReadBuffer", object);
}

// Whether products_probe.cl adds correctly. It adds a group, which is eight words of codes, and starts at -7. The codes
// and the signed bytes lie at both ends of their ranges and between. code_bits: the bits of a word that codes use.
bool adds_rightly(const std::string& options, uint32_t code_bits, ProgramCache& programs,
                  const cl::CommandQueue& queue) {
  const std::string object = "test of byte products on " + programs.handle().id;
  cl::Kernel kernel = programs.kernel("products_probe", "products_probe", options);
  std::array<uint32_t, 17> words{};
  for (uint32_t i = 0; i < 16; ++i) words[i] = (0xff80017fU + i * 0x01010101U) & code_bits;
  // The first row has the largest codes.
  words[0] = code_bits;
  words[16] = 0x7f817f7fU;
  std::array<int32_t, 16> expected{}, sums{};
  for (size_t i = 0; i < expected.size(); ++i) {
    // Codes are unsigned and the other bytes are signed.
    for (int byte = 0; byte < 32; byte += 8)
      expected[i] += static_cast<int32_t>(words[i] >> byte & 255U) * static_cast<int8_t>(words[16] >> byte & 255U);
    expected[i] = 8 * expected[i] - 7;
  }
  run_probe(kernel, 1, words, sums, programs, queue, object);
  return sums == expected;
}

bool is_nvidia(const cl::Device& device) {
  return device.getInfo<CL_DEVICE_VENDOR>().find("NVIDIA") != std::string::npos;
}

// Whether the product of the case on matrix units has the bits of the plain definition.
bool units_multiply_rightly(gpu::MatrixUnitCase units, ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::string object = "test of matrix units on " + programs.handle().id;
  std::vector<float> y(gpu::MatrixUnitCase::kSums);
  const std::string options = gpu::packed_options(units.format) +
                              " -DBITS=" + (units.format.kind == PackedKind::i4 ? "4" : "8") +
                              " -DROW_PIECES=1 -DMATRIX_UNITS=1";
  cl::Kernel kernel = programs.kernel("matmul_act8_simt", "matmul_gemm", options);
  const cl::Buffer w = buffer_of(programs, units.pieces.size(), units.pieces.data(), object);
  const cl::Buffer x = buffer_of(programs, units.codes.size() * sizeof(ActBlock), units.codes.data(), object);
  const cl::Buffer to = buffer_of(programs, y.size() * sizeof(float), nullptr, object);
  cl_uint index = 0;
  const auto set = [&](const auto& value) {
    check(kernel.setArg(index++, sizeof value, &value), "clSetKernelArg", object);
  };
  for (const cl::Buffer* buffer : {&w, &x, &to}) {
    set((*buffer)());
    set(cl_ulong{0});
  }
  set(cl_ulong{units.panel.size()});
  for (const int32_t value : gpu::MatrixUnitCase::sizes()) set(cl_int{value});
  check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(128, 1), cl::NDRange(128, 1)),
        "clEnqueueNDRangeKernel", object);
  check(queue.enqueueReadBuffer(to, CL_TRUE, 0, y.size() * sizeof(float), y.data()), "clEnqueueReadBuffer", object);
  return units.has_plain_bits(y);
}

}  // namespace

// Processors other than x86-64 have plain C alone.
std::vector<gpu::ByteProducts> host_byte_products() {
  std::vector<gpu::ByteProducts> all;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni"))
    all.push_back(gpu::ByteProducts::vpdpbusd);
  if (__builtin_cpu_supports("avx2")) all.push_back(gpu::ByteProducts::vpmaddubsw);
#endif
  all.push_back(gpu::ByteProducts::plain);
  return all;
}

bool products_proven(gpu::ByteProducts how, ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::string named = gpu::byte_products_option(how);
  try {
    // vpdpbusd adds four products at once, in the same way for all codes, so the test with bytes is enough.
    const bool nibbles =
        how == gpu::ByteProducts::vpdpbusd || adds_rightly(named + kOfNibbles, 0x0f0f0f0fU, programs, queue);
    return nibbles && adds_rightly(named + kOfBytes, 0xffffffffU, programs, queue);
  } catch (const Error&) {
    return false;  // the compiler lacks the instruction; other ways give the same sums
  }
}

gpu::ByteProducts best_byte_products(ProgramCache& programs, const cl::CommandQueue& queue,
                                     const Precautions& precautions) {
  for (const gpu::ByteProducts how : host_byte_products()) {
    if (how == gpu::ByteProducts::plain) break;
    if (precautions.against(how == gpu::ByteProducts::vpdpbusd ? "vpdpbusd" : "vpmaddubsw")) continue;
    if (products_proven(how, programs, queue)) return how;
  }
  return gpu::ByteProducts::plain;
}

// Some drivers die when they are asked for a compiled program, or for one with inline assembly. Then such programs are
// not asked for.
void settle_keeping(ProgramCache& programs, gpu::ByteProducts how, const Precautions& precautions) {
  if (precautions.against("kept programs")) return programs.keep(Keeps::none);
  if (precautions.watched()) programs.ask_for_compiled("probe", "");
  if (how == gpu::ByteProducts::plain) return;
  if (precautions.against("kept assembly")) return programs.keep(Keeps::no_assembly);
  if (precautions.watched())
    programs.ask_for_compiled("products_probe", std::string(gpu::byte_products_option(how)) + kOfBytes);
}

// NVIDIA's OpenCL lists the extension and does not compile its functions, so its own instruction is tried first.
gpu::PackedDot prove_packed_dot(ProgramCache& programs, const cl::CommandQueue& queue) {
  const cl::Device& device = programs.handle().device;
  std::vector<gpu::PackedDot> ways;
  if (is_nvidia(device)) ways.push_back(gpu::PackedDot::dp4a);
  if (device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_khr_integer_dot_product") != std::string::npos)
    ways.push_back(gpu::PackedDot::extension);
  for (const gpu::PackedDot way : ways) {
    try {
      const std::vector<uint32_t> words = gpu::packed_dot_cases();
      std::vector<int32_t> sums(words.size() / 2);
      cl::Kernel kernel = programs.kernel("dot_probe", "dot_probe",
                                          "-DBOOK=2 -DHAS_PACKED_DOT=" + std::to_string(static_cast<int>(way)));
      run_probe(kernel, sums.size(), words, sums, programs, queue, "test of dot products on " + programs.handle().id);
      if (gpu::dot_is_exact(words, sums)) return way;
    } catch (const Error&) {
      continue;  // it does not compile, or the extension does not include packed bytes
    }
  }
  return gpu::PackedDot::none;  // kernels multiply one by one
}

gpu::MatrixUnits prove_matrix_units(ProgramCache& programs, const cl::CommandQueue& queue) {
  if (!is_nvidia(programs.handle().device)) return gpu::MatrixUnits::none;
  try {
    for (gpu::MatrixUnitCase& units : gpu::matrix_unit_cases()) {
      if (!units_multiply_rightly(std::move(units), programs, queue)) return gpu::MatrixUnits::none;
    }
    return gpu::MatrixUnits::ptx;
  } catch (const Error&) {
    return gpu::MatrixUnits::none;  // an older card; kernels then multiply four bytes at a time
  }
}

}  // namespace tandem::opencl
