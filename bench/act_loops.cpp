// How fast are the host's loops for 8-bit activations (packed/loops/act_loops.h) by instruction set and packed format?
//
// Prints GB/s of packed weights for --tokens tokens (1, as in generation) on one thread, pinned to the last core that
// it may use. It times weights from the L2 cache, and cold weights: 400 MB, in huge pages where the system gives them.
// `tandem bench --roofline` measures the memory itself. For weights from the cache it also prints multiply-adds. Each
// loop is verified against the plain definition, bit for bit, before it is timed. The best of five rounds counts.
//
// Usage: act_loops [--tokens N] [--columns K]
#include "packed/loops/act_loops.h"

#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "sync/affinity.h"
#include "sync/clock.h"

namespace {

using namespace tandem;

constexpr size_t kColdBytes = 400'000'000, kWarmBytes = 300'000, kHugePage = 2 << 20;
constexpr int kRounds = 5;

struct Named {
  const char* name;
  PackedFormat format;
};
const Named kFormats[] = {
    {"Q4_0", {PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8}},
    {"Q4_1", {PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32}},
    {"MXFP4", {PackedKind::i4, ScaleKind::half, MinKind::none, 32, 0, CodeBook::e2m1}},
    {"Q8_0", {PackedKind::i8, ScaleKind::half, MinKind::none, 32}},
    {"Q4_K", {PackedKind::i4, ScaleKind::super, MinKind::explicit_, 32}},
    {"Q6_K", {PackedKind::i8, ScaleKind::super, MinKind::none, 16}},
};

// One product with fixed activations. Its results are checked against the plain formula, bit by bit, before anything
// is timed.
struct Product {
  PackedFormat format;
  int64_t tokens, columns;
  std::vector<ActBlock> x;
  std::vector<float> y, sums;

  Product(const PackedFormat& packed, int64_t S, int64_t K)
      : format(packed), tokens(S), columns(K), x(S * K / kActGroup), y(S * kPanelRows), sums(2 * S * kPanelRows + 16) {
    std::mt19937 random(5);
    std::vector<float> values(static_cast<size_t>(S * K));
    for (float& value : values) value = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
    plain_act_loops().quantise(values.data(), S * K, x.data());
  }
  void by(const ActLoops& loops, const std::byte* panel) {
    auto* scratch = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(sums.data()) + 63) / 64 * 64);
    loops.multiply_panel(
        {&format, panel, tokens, columns, static_cast<int>(kPanelRows), x.data(), y.data(), kPanelRows, scratch});
  }
  bool right(const ActLoops& loops, const std::byte* panel) {
    by(loops, panel);
    for (int64_t s = 0; s < tokens; ++s)
      for (int64_t n = 0; n < kPanelRows; ++n)
        if (std::bit_cast<uint32_t>(y[s * kPanelRows + n]) !=
            std::bit_cast<uint32_t>(act_i8_product(format, panel, columns, n, x.data() + s * columns / kActGroup)))
          return false;
    return true;
  }
};

// Returns GB/s of `panels` panels, repeated until about as many bytes are read as there are cold ones.
double rate(Product& product, const ActLoops& loops, const std::byte* weights, size_t bytes, size_t panels) {
  const size_t times = std::max<size_t>(1, kColdBytes / (bytes * panels));
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    for (size_t time = 0; time < times; ++time)
      for (size_t p = 0; p < panels; ++p) product.by(loops, weights + p * bytes);
    best = std::max(best, static_cast<double>(times * panels * bytes) / seconds_since(begin) / 1e9);
  }
  return best;
}

}  // namespace

// Weights are 400 MB of random codes on huge pages, so that cold runs read from memory and not from a cache. Loops that
// give a wrong result are not timed.
int main(int count, char** arguments) {
  CLI::App app("act_loops: GB/s of packed weights of the loops for 8-bit activations");
  int64_t tokens = 1, columns = 2048;
  app.add_option("--tokens", tokens, "tokens of the product")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--columns", columns, "columns of the weights, a multiple of 256")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
  CLI11_PARSE(app, count, arguments);
  if (columns % kSuperColumns != 0) {
    std::fprintf(stderr, "error: --columns is to be a multiple of 256\n");
    return 2;
  }
  if (const std::vector<int> cores = cores_of_this_thread(); !cores.empty()) pin_this_thread(std::span(cores).last(1));
  const size_t room = (kColdBytes + 2 * kHugePage) / kHugePage * kHugePage;
  const std::unique_ptr<std::byte, decltype(&std::free)> weights(
      static_cast<std::byte*>(std::aligned_alloc(kHugePage, room)), &std::free);
  madvise(weights.get(), room, MADV_HUGEPAGE);
  std::mt19937 random(3);
  auto* words = reinterpret_cast<uint32_t*>(weights.get());
  for (size_t i = 0; i < room / 4; ++i) words[i] = static_cast<uint32_t>(random()) & 0xbbffbbffU;  // halves are finite
  std::printf("%lld tokens, %lld columns\n\n", static_cast<long long>(tokens), static_cast<long long>(columns));
  std::printf(
      "| weights | loops | from cache GB/s | cold GB/s | from cache 10^9 multiply-adds/s |\n"
      "| --- | --- | ---: | ---: | ---: |\n");
  for (const Named& named : kFormats) {
    const size_t bytes = panel_bytes(named.format, columns);
    Product product(named.format, tokens, columns);
    for (const ActLoops* loops : all_act_loops()) {
      if (loops == &plain_act_loops() && all_act_loops().size() > 1) continue;  // slow, and this machine never uses it
      if (!product.right(*loops, weights.get())) {
        std::fprintf(stderr, "error: %s of %s gives other bits than the plain definition\n", loops->name, named.name);
        return 1;
      }
      const double warm = rate(product, *loops, weights.get(), bytes, std::max<size_t>(1, kWarmBytes / bytes));
      const double weights_per_byte = static_cast<double>(columns * kPanelRows) / static_cast<double>(bytes);
      std::printf("| %s | %s | %.1f | %.1f | %.0f |\n", named.name, loops->name, warm,
                  rate(product, *loops, weights.get(), bytes, kColdBytes / bytes),
                  warm * weights_per_byte * static_cast<double>(tokens));
      std::fflush(stdout);
    }
  }
  return 0;
}
