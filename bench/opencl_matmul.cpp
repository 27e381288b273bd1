// How fast is the matmul of an OpenCL device, by format, shape and number of tokens?
//
// Prints a table and one JSON line a row: GB/s of packed weights (few tokens) and GFLOP/s (many). Each shape is
// verified against a host loop before it is timed. Weights are cold: the bench uses copies in turn, which together
// exceed the last cache. Judge figures of a single worker by the DRAM read rate and the fma peak of one core. The host
// thread stays off the worker's core. With --act i8 the activations have 8 bits (packed/act_i8.h).
// --spare leaves out an instruction for products of bytes: vpdpbusd, or both vpdpbusd and vpmaddubsw.
// Usage: opencl_matmul [--device N] [--quick] [--type Q4_1] [--tokens S] [--act f32|i8] [--spare NAME]...
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/device/opencl/opencl_device.h"
#include "packed/act_i8.h"
#include "packed/decode.h"
#include "packed/row_product.h"
#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/pool.h"

namespace {

using namespace tandem;
struct Shape {
  int64_t rows, columns;
  StorageType type;
};

// Random rows in the storage type. Their f16 scales are small, so that nothing overflows. In a block of Q4_1 the least
// weight is as far below zero as the largest is above. Quantisers make it so, and its kernels check that.
std::vector<std::byte> random_rows(const Shape& shape, std::mt19937& random) {
  const size_t bytes = row_bytes(shape.type, shape.columns) * shape.rows;
  const StorageTypeInfo& type = info(shape.type);
  std::vector<std::byte> rows(bytes);
  for (std::byte& b : rows) b = static_cast<std::byte>(random());
  if (shape.type == StorageType::f32) {
    for (size_t i = 0; i < bytes / 4; ++i) {
      const float value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
      std::memcpy(&rows[4 * i], &value, 4);
    }
    return rows;
  }
  for (size_t block = 0; block < bytes; block += type.block_bytes) {
    const int halves = shape.type == StorageType::f16 ? type.block_bytes / 2 : shape.type == StorageType::q8_0 ? 1 : 2;
    float value = 0;
    for (int h = 0; h < halves; ++h) {
      value = h == 1 && shape.type == StorageType::q4_1 ? -7.5f * value : 0.001f * static_cast<float>(random() % 1000);
      const uint16_t half = float_to_half(value);
      std::memcpy(&rows[block + 2 * h], &half, 2);
    }
  }
  return rows;
}

// CPU time of all threads. On a machine with other load it is nearer to the truth than wall time.
double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The definition of one sum: plain or quantised activations, in the order of runs.
float expected(const MatMul& op, int64_t n, int64_t s, const std::vector<float>& row) {
  const float* x = op.x.as<float>() + s * op.x_stride;
  if (!op.act_i8) return row_product(row.data(), x, op.K);
  std::vector<ActBlock> codes(static_cast<size_t>(op.K / kActGroup));
  quantise_act(x, op.K, codes.data());
  const auto* panel = op.w.data.as<std::byte>() + n / kPanelRows * panel_bytes(op.w.format, op.K);
  return act_i8_product(op.w.format, panel, op.K, n % kPanelRows, codes.data());
}

// A few rows of all tokens, bit by bit.
bool verify(const MatMul& op) {
  std::vector<float> row(op.K);
  for (int64_t n = op.row_begin; n < op.row_end; n += 1 + op.row_end / 37) {
    decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.K, n, row.data());
    for (int64_t s = 0; s < op.S; ++s) {
      const float sum = expected(op, n, s, row);
      const float got = op.y.as<float>()[s * op.y_stride + n];
      if (std::memcmp(&sum, &got, sizeof sum) != 0) {
        std::fprintf(stderr, "row %ld token %ld: %.9g instead of %.9g\n", n, s, got, sum);
        return false;
      }
    }
  }
  return true;
}

// So many copies of the weights that they exceed the caches, each multiplied once in a round. Medians count, and the
// CPU time beside them shows whether the driver's threads were all at work.
int bench(Device& device, const Shape& shape, int64_t S, bool act_i8) {
  sync::Pool pool;
  std::mt19937 random(42);
  const PackedFormat format = packed_format(shape.type);
  const size_t bytes = packed_bytes(format, shape.rows, shape.columns);
  const int copies = static_cast<int>(std::clamp<size_t>((size_t{96} << 20) / bytes, 1, 256));
  const auto rows = random_rows(shape, random);
  sync::Slot& weights = pool.acquire(bytes * copies, sync::SlotUse::weights, "w");
  pack_rows(shape.type, rows.data(), shape.columns, 0, shape.rows, weights.data());
  for (int c = 1; c < copies; ++c) std::memcpy(weights.data() + c * bytes, weights.data(), bytes);
  sync::Slot& x = pool.acquire(S * shape.columns * 4, sync::SlotUse::activations, "x");
  sync::Slot& y = pool.acquire(S * shape.rows * 4, sync::SlotUse::activations, "y");
  for (int64_t i = 0; i < S * shape.columns; ++i)
    x.as<float>()[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  std::vector<Operator> operators;
  for (int c = 0; c < copies; ++c) {
    MatMul op;
    op.S = S, op.K = shape.columns, op.row_end = shape.rows, op.act_i8 = act_i8;
    op.w = {format, shape.rows, shape.columns, {&weights, c * bytes}};
    op.x = {&x, 0}, op.y = {&y, 0};
    op.x_stride = shape.columns, op.y_stride = shape.rows;
    operators.push_back({std::to_string(c), op});
  }
  const auto program = device.prepare(operators);
  std::vector<double> seconds, cpu_seconds;
  for (int round = 0; round < 9; ++round) {
    const auto begin = Clock::now();
    const double cpu_begin = process_cpu_seconds();
    launch_one(device, *program, {}, {});
    device.finish(std::chrono::seconds(60));
    seconds.push_back(seconds_since(begin) / copies);
    cpu_seconds.push_back((process_cpu_seconds() - cpu_begin) / copies);
    if (round == 0 && device.info().fused_fma && !verify(std::get<MatMul>(operators.back().body))) return 1;
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = median_of(seconds), cpu = median_of(cpu_seconds);
  const double gbps = static_cast<double>(bytes) / median * 1e-9;
  const double gflops = 2.0 * static_cast<double>(S * shape.rows * shape.columns) / median * 1e-9;
  std::printf("%-10s %6ld x %-5ld S=%-4ld %10.1f us (%.1f..%.1f) %7.1f GB/s %8.1f GFLOP/s, %9.1f us cpu\n",
              info(shape.type).name, shape.rows, shape.columns, S, median * 1e6, seconds.front() * 1e6,
              seconds.back() * 1e6, gbps, gflops, cpu * 1e6);
  std::printf(
      R"({"schema":1,"bench":"opencl_matmul","device":"%s","format":"%s","N":%ld,"K":%ld,"S":%ld,"act":"%s","clock":"wall","us":%.2f,"cpu_us":%.2f,"gb_per_s":%.2f,"gflop_per_s":%.2f,"status":"ok"})"
      "\n",
      device.info().id.c_str(), to_string(format).c_str(), shape.rows, shape.columns, S, act_i8 ? "i8" : "f32",
      median * 1e6, cpu * 1e6, gbps, gflops);
  std::fflush(stdout);
  return 0;
}

// Flags are read by hand: this bench opens a device, and no engine that would need a model.
int run(int argc, char** argv) {
  int index = 0;
  bool quick = false, act_i8 = false;
  DeviceOptions options;
  std::string only_type;
  int64_t only_tokens = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--quick") quick = true;
    if (std::string(argv[i]) == "--act" && i + 1 < argc) act_i8 = std::string(argv[++i]) == "i8";
    if (std::string(argv[i]) == "--spare" && i + 1 < argc)
      options.precautions.spared[argv[++i]] = "left out to be measured without it";
    if (std::string(argv[i]) == "--device" && i + 1 < argc) index = std::atoi(argv[++i]);
    if (std::string(argv[i]) == "--type" && i + 1 < argc) only_type = argv[++i];
    if (std::string(argv[i]) == "--tokens" && i + 1 < argc) only_tokens = std::atoi(argv[++i]);
  }
  pin_this_thread({{1}});  // may fail: a machine with one core has no other place
  const auto device = open_opencl_device(index, options);
  std::printf("%s %s, %d compute units, measured\n", device->info().id.c_str(), device->info().name.c_str(),
              device->info().compute_units);
  std::vector<Shape> shapes = {{576, 576, StorageType::q4_1},  {1536, 576, StorageType::q4_1},
                               {576, 1536, StorageType::q4_1}, {49152, 576, StorageType::q8_0},
                               {1536, 576, StorageType::q4_k}, {4096, 4096, StorageType::q4_0},
                               {1536, 576, StorageType::f16},  {1536, 576, StorageType::q8_0}};
  shapes[4].columns = 768;  // Q4_K has blocks of 256 columns
  std::vector<int64_t> tokens = {1, 2, 4, 8, 16, 64, 256};
  if (quick) tokens = {1, 4, 64};
  if (only_tokens > 0) tokens = {only_tokens};
  if (!only_type.empty()) {
    std::string names;
    for (const Shape& shape : shapes) {
      const std::string name = info(shape.type).name;
      if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
    }
    std::erase_if(shapes, [&](const Shape& shape) { return only_type != info(shape.type).name; });
    if (shapes.empty()) throw Error("no shape of this bench has the type", only_type, "Types: " + names);
  }
  int failures = 0;
  for (const Shape& shape : shapes) {
    for (int64_t S : tokens) {
      if (shape.rows > 10000 && S > 64) continue;  // many rows are logits, which only the last tokens of a prompt need
      if (act_i8 && shape.type == StorageType::f16) continue;
      failures += bench(*device, shape, S, act_i8);
    }
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tandem::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
