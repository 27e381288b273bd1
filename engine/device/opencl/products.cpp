#include "engine/device/opencl/products.h"

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "engine/device/gpu/lower_support.h"
#include "engine/device/gpu/row_pieces.h"
#include "engine/device/gpu/self_test_parts.h"
#include "packed/act_i8.h"
#include "packed/half.h"
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

constexpr int64_t kRows = kPanelRows, kTokens = 64, kColumns = 2048;  // of the test of matrix units

// A panel whose codes take all values, with scales and minima that are not powers of two.
std::vector<std::byte> made_panel(const PackedFormat& format) {
  std::vector<std::byte> panel(panel_bytes(format, kColumns));
  uint32_t state = 1;
  for (std::byte& byte : panel) byte = static_cast<std::byte>((state = state * 1664525U + 1013904223U) >> 24);
  for (int64_t tile = 0; tile < kColumns / kTileColumns; ++tile) {
    const uint16_t* scales = tile_view(format, panel.data(), tile).scale;
    const size_t at = static_cast<size_t>(reinterpret_cast<const std::byte*>(scales) - panel.data());
    for (int64_t r = 0; r < kRows; ++r) {
      const uint16_t scale = float_to_half(0.001f * static_cast<float>(1 + (r * 7 + tile * 3) % 29));
      std::memcpy(panel.data() + at + static_cast<size_t>(r) * sizeof scale, &scale, sizeof scale);
    }
  }
  return panel;
}

std::vector<ActBlock> made_codes() {
  std::vector<float> x(kColumns);
  std::vector<ActBlock> blocks(static_cast<size_t>(kTokens * kColumns / kActGroup));
  for (int64_t token = 0; token < kTokens; ++token) {
    for (int64_t k = 0; k < kColumns; ++k)
      x[static_cast<size_t>(k)] = static_cast<float>((token * 31 + k * 17) % 199 - 99);
    quantise_act(x.data(), kColumns, blocks.data() + token * kColumns / kActGroup);
  }
  return blocks;
}

// Whether the product of one panel and 64 tokens on matrix units has the bits of the plain definition.
bool units_multiply_rightly(const PackedFormat& format, ProgramCache& programs, const cl::CommandQueue& queue) {
  const std::string object = "test of matrix units on " + programs.handle().id;
  const std::vector<std::byte> panel = made_panel(format);
  std::vector<std::byte> pieces = panel;
  gpu::rearrange(format, kColumns, 1, pieces.data());
  std::vector<ActBlock> codes = made_codes();
  std::vector<float> y(static_cast<size_t>(kTokens * kRows));
  const std::string options = gpu::packed_options(format) + " -DBITS=" + (format.kind == PackedKind::i4 ? "4" : "8") +
                              " -DROW_PIECES=1 -DMATRIX_UNITS=1";
  cl::Kernel kernel = programs.kernel("matmul_act8_simt", "matmul_gemm", options);
  const cl::Buffer w = buffer_of(programs, pieces.size(), pieces.data(), object);
  const cl::Buffer x = buffer_of(programs, codes.size() * sizeof(ActBlock), codes.data(), object);
  const cl::Buffer to = buffer_of(programs, y.size() * sizeof(float), nullptr, object);
  cl_uint index = 0;
  const auto set = [&](const auto& value) {
    check(kernel.setArg(index++, sizeof value, &value), "clSetKernelArg", object);
  };
  for (const cl::Buffer* buffer : {&w, &x, &to}) {
    set((*buffer)());
    set(cl_ulong{0});
  }
  set(cl_ulong{panel.size()});
  const auto stride = static_cast<cl_int>(kColumns / kActGroup * static_cast<int64_t>(sizeof(ActBlock) / 4));
  for (const cl_int value : {cl_int{kColumns}, cl_int{0}, cl_int{kRows}, stride, cl_int{kRows}, cl_int{kTokens}})
    set(value);
  check(queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(128, 1), cl::NDRange(128, 1)),
        "clEnqueueNDRangeKernel", object);
  check(queue.enqueueReadBuffer(to, CL_TRUE, 0, y.size() * sizeof(float), y.data()), "clEnqueueReadBuffer", object);
  for (int64_t i = 0; i < kTokens * kRows; ++i) {
    const float expected =
        act_i8_product(format, panel.data(), kColumns, i % kRows, codes.data() + i / kRows * kColumns / kActGroup);
    if (std::bit_cast<uint32_t>(expected) != std::bit_cast<uint32_t>(y[static_cast<size_t>(i)])) return false;
  }
  return true;
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
    for (const PackedFormat& format : {PackedFormat{PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8},
                                       PackedFormat{PackedKind::i8, ScaleKind::half, MinKind::none, 32, 0}}) {
      if (!units_multiply_rightly(format, programs, queue)) return gpu::MatrixUnits::none;
    }
    return gpu::MatrixUnits::ptx;
  } catch (const Error&) {
    return gpu::MatrixUnits::none;  // an older card; kernels then multiply four bytes at a time
  }
}

}  // namespace tandem::opencl
