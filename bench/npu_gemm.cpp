// How fast is the emulated array's functional path, compared with OpenBLAS on one core and with the memory's read rate?
//
// Prefill: GFLOP/s at 64 x 64 tiles over fp16 weights, beside OpenBLAS sgemm of the same shape in the same rounds.
// Decode: GB/s of packed 4-bit weights (one token, weights colder than the caches). Results are verified before
// anything is timed. All figures are measured. OpenBLAS must know the processor: OPENBLAS_CORETYPE=SkylakeX on AVX-512
// machines, which the program sets for itself.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "npu_emu/fast_matmul.h"
#include "npu_emu/number_format.h"
#include "packed/decode.h"
#include "packed/row_product.h"
#include "sync/affinity.h"

#ifdef TANDEM_HAVE_OPENBLAS
#include <cblas.h>
#endif

namespace {

using namespace tandem;
using namespace npu_emu;
// CPU time of this thread. Both sides are one busy thread, and on a shared machine other processes take the core
// at times.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

// Fills panels with random bytes, which are valid codes; scales and minima get small values.
std::vector<std::byte> random_codes(const PackedFormat& format, int64_t rows, int64_t columns) {
  const size_t bytes = panel_bytes(format, columns);
  std::vector<std::byte> panels(bytes * static_cast<size_t>(panel_count(rows)));
  std::mt19937 random(7);
  for (std::byte& byte : panels) byte = static_cast<std::byte>(random());
  for (int64_t panel = 0; panel < panel_count(rows); ++panel) {
    for (int64_t tile = 0; tile < columns / kTileColumns; ++tile) {
      const TileView view = tile_view(format, panels.data() + static_cast<size_t>(panel) * bytes, tile);
      auto* halves = const_cast<uint16_t*>(view.scale);
      for (int64_t i = 0; i < 2 * kPanelRows; ++i) halves[i] = float_to_half((i < kPanelRows ? 0.01f : -0.08f));
    }
  }
  return panels;
}

// Row n by the definition, with activations rounded to halves.
float expected(const MatmulCall& call, int64_t token, int64_t row) {
  const std::byte* panel = call.panels + static_cast<size_t>(row / kPanelRows) * panel_bytes(call.format, call.columns);
  std::vector<float> weights, x;
  for (int64_t k = 0; k < call.columns; ++k) {
    weights.push_back(cell_weight(call.format, panel, k, row % kPanelRows));
    x.push_back(round_to_half(call.x[token * call.x_stride + k]));
  }
  return row_product(weights.data(), x.data(), call.columns);
}

// Checks some rows of the first and the last token against a plain loop, since checking all would take longer than
// the bench.
void verify(const MatmulCall& call) {
  for (int64_t token : {int64_t{0}, call.tokens - 1}) {
    for (int64_t row = 0; row < call.row_end; row += 37) {
      if (call.y[token * call.y_stride + row] == expected(call, token, row)) continue;
      std::fprintf(stderr, "wrong result at token %ld row %ld\n", static_cast<long>(token), static_cast<long>(row));
      std::exit(1);
    }
  }
}

struct Shape {
  int64_t tokens, rows, columns;
};

// Times the array's product and OpenBLAS's in turns over the same values. Weights are halves in panels for the array
// and floats for OpenBLAS. The ratio is taken within each round.
nlohmann::json prefill(const Shape& shape, int rounds) {
  const auto [S, N, K] = shape;
  const std::vector<float> x = random_floats(static_cast<size_t>(S * K), 1),
                           w = random_floats(static_cast<size_t>(N * K), 2);
  std::vector<uint16_t> halves(static_cast<size_t>(panel_count(N) * kPanelRows * K));
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k)
      halves[static_cast<size_t>((n / 64 * K + k) * 64 + n % 64)] = float_to_half(w[static_cast<size_t>(n * K + k)]);
  std::vector<float> y(static_cast<size_t>(S * N));
  const MatmulCall call = {
      S,        K, 0,        N, PackedFormat{PackedKind::f16}, reinterpret_cast<const std::byte*>(halves.data()),
      x.data(), K, y.data(), N};
  FastMatmul matmul;
  AlignedFloats activations, sums;
  auto array = [&] {
    matmul.prepare_activations(call, activations);
    matmul.multiply(call, activations, sums, 0, 1);
  };
  array();
  verify(call);
  const double flops = 2.0 * static_cast<double>(S) * static_cast<double>(N) * static_cast<double>(K);
  std::vector<double> ours, ratios;
#ifdef TANDEM_HAVE_OPENBLAS
  std::vector<double> theirs;
  std::vector<float> z(y.size());
  auto blas = [&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(S), static_cast<int>(N), static_cast<int>(K),
                1.0f, x.data(), static_cast<int>(K), w.data(), static_cast<int>(K), 0.0f, z.data(),
                static_cast<int>(N));
  };
  blas();
#endif
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(flops / seconds_of(array) / 1e9);
#ifdef TANDEM_HAVE_OPENBLAS
    theirs.push_back(flops / seconds_of(blas) / 1e9);
    ratios.push_back(ours.back() / theirs.back());
#endif
  }
  nlohmann::json row = {{"test", "prefill fp16"},
                        {"S", S},
                        {"N", N},
                        {"K", K},
                        {"instruction_set", to_string(best_packed_loops().set())},
                        {"clock", "measured"},
                        {"gflops", median(ours)}};
#ifdef TANDEM_HAVE_OPENBLAS
  row["openblas_gflops"] = median(theirs);
  row["ratio"] = median(ratios);
#endif
  return row;
}

// Few tokens read all weights once, so the bound is how fast this thread can read memory. The bench measures that rate
// too, by adding up the same bytes.
nlohmann::json decode(const char* name, PackedKind kind, const Shape& shape, int rounds) {
  const auto [S, N, K] = shape;
  const PackedFormat format = {kind, ScaleKind::half, MinKind::explicit_, 32, 0};
  const std::vector<float> x = random_floats(static_cast<size_t>(S * K), 1);
  const std::vector<std::byte> panels = random_codes(format, N, K);
  std::vector<float> y(static_cast<size_t>(S * N));
  const MatmulCall call = {S, K, 0, N, format, panels.data(), x.data(), K, y.data(), N};
  FastMatmul matmul;
  AlignedFloats activations, sums;
  auto array = [&] {
    matmul.prepare_activations(call, activations);
    matmul.multiply(call, activations, sums, 0, 1);
  };
  array();
  verify(call);
  volatile uint64_t sink = 0;
  auto read = [&] {
    uint64_t lanes[8] = {};
    const auto* words = reinterpret_cast<const uint64_t*>(panels.data());
    for (size_t i = 0; i + 8 <= panels.size() / 8; i += 8)
      for (size_t j = 0; j < 8; ++j) lanes[j] += words[i + j];
    sink = lanes[0] + lanes[3] + lanes[7];
  };
  std::vector<double> rates, reads;
  const double bytes = static_cast<double>(panels.size());
  for (int round = 0; round < rounds; ++round) {
    rates.push_back(bytes / seconds_of(array) / 1e9);
    reads.push_back(bytes / seconds_of(read) / 1e9);
  }
  return {{"test", name},
          {"S", S},
          {"N", N},
          {"K", K},
          {"instruction_set", to_string(best_packed_loops().set())},
          {"clock", "measured"},
          {"gb_per_s", median(rates)},
          {"read_gb_per_s", median(reads)}};
}

}  // namespace

// OpenBLAS takes the instruction set from its environment when it is loaded. So the program sets it and starts
// itself again.
int main(int argc, char** argv) {
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr) {
    // The library's constructor reads these before main, so the program sets them and starts itself again.
    __builtin_cpu_init();
    setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  pin_this_thread({{static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - 1}});

  nlohmann::json table = nlohmann::json::array();
  for (const Shape& shape :
       {Shape{32, 1536, 576}, Shape{256, 1536, 576}, Shape{256, 4096, 4096}, Shape{512, 2048, 2048}})
    table.push_back(prefill(shape, shape.rows * shape.columns > (1 << 22) ? 9 : 31));
  // 70 MB and more exceed any cache of such a machine. 0.5 MB stays in L2 and shows the limit of the arithmetic.
  for (const int64_t tokens : {1, 2, 4, 8})
    table.push_back(decode("decode i4", PackedKind::i4, {tokens, 49152, 2304}, 9));
  table.push_back(decode("decode i8", PackedKind::i8, {1, 49152, 2304}, 9));
  table.push_back(decode("decode i4 L2", PackedKind::i4, {1, 1536, 576}, 301));
  table.push_back(decode("decode i8 L2", PackedKind::i8, {1, 1024, 576}, 301));
  if (json) {
    std::printf("%s\n", nlohmann::json({{"schema", 1}, {"bench", "npu_gemm"}, {"rows", table}}).dump(2).c_str());
    return 0;
  }
  std::printf("measured in CPU time of one thread, medians\n%-14s %5s %6s %6s %12s %18s %18s %8s\n", "test", "S", "N",
              "K", "instructions", "array", "judged by", "ratio");
  for (const auto& row : table) {
    const bool gemm = row.contains("gflops");
    const double value = gemm ? row["gflops"] : row["gb_per_s"],
                 peer = gemm ? row.value("openblas_gflops", 0.0) : row["read_gb_per_s"].get<double>();
    std::printf("%-14s %5ld %6ld %6ld %12s %10.1f %-7s %10.1f %-7s %8.2f\n", row["test"].get<std::string>().c_str(),
                row["S"].get<long>(), row["N"].get<long>(), row["K"].get<long>(),
                row["instruction_set"].get<std::string>().c_str(), value, gemm ? "GFLOP/s" : "GB/s", peer,
                gemm ? "BLAS" : "read", peer > 0 ? value / peer : 0.0);
  }
  return 0;
}
