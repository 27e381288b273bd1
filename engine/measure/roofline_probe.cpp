#include "engine/measure/roofline_probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <span>
#include <thread>

#include "engine/measure/roofline_loops.h"
#include "engine/run/pass/core_layout.h"
#include "packed/loops/loops.h"
#include "sync/affinity.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kSeconds = 0.2;
constexpr size_t kLeastBytes = size_t{256} << 20, kTimesCache = 4;
constexpr int64_t kFmaRounds = 20000;              // some 50 us between two readings of the clock
constexpr int64_t kInt8Rounds = 20000;             // 60 us of AVX-512 VNNI, 600 of tiles
constexpr int64_t kBlockWords = 256 * kReadWords;  // 1 MiB

// Bytes of the largest cache in the system's own tables; 0 without such tables.
size_t last_level_cache_bytes() {
  size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::string text;
    if (file >> text) largest = std::max(largest, cache_size_of(text));
  }
  return largest;
}

// Work a second of all cores together. work(thread, block) does one piece of work on its thread and returns its amount.
// All threads start their clocks together, after a first piece that warms their cores up. Each counts until kSeconds
// have passed.
double rate(std::span<const int> cores, const std::function<double(size_t thread, int64_t block)>& work) {
  std::vector<double> rates(cores.size());
  std::atomic<size_t> ready = 0;
  std::vector<std::jthread> threads;  // if one cannot start, the others are asked to stop
  for (size_t t = 0; t < cores.size(); ++t) {
    threads.emplace_back([&, t](const std::stop_token& stop) {
      pin_this_thread(cores.subspan(t, 1));
      work(t, 0);  // wakes the core up and maps the pages that it reads
      ++ready;
      while (ready < cores.size() && !stop.stop_requested()) std::this_thread::yield();
      const double start = now_seconds();
      double done = 0, seconds = 0;
      for (int64_t block = 1; seconds < kSeconds && !stop.stop_requested(); ++block) {
        done += work(t, block);
        seconds = now_seconds() - start;
      }
      rates[t] = done / seconds;
    });
  }
  for (std::jthread& thread : threads) thread.join();
  double sum = 0;
  for (double one : rates) sum += one;
  return sum;
}

// f32 multiply-adds a second of the cores together, in GFLOP/s. The loops' results are checked, so that they
// count as used.
double fma_gflops(std::span<const int> cores) {
  const RooflineLoops& loops = roofline_loops();
  std::vector<float> kept(cores.size());
  const double flops = rate(cores, [&](size_t thread, int64_t) {
    kept[thread] = loops.fma(kFmaRounds);
    return static_cast<double>(kFmaRounds * loops.flops_per_round);
  });
  for (float value : kept) TANDEM_CHECK(std::isfinite(value), "the chains of multiply-adds");
  return flops * 1e-9;
}

// Multiply and add count as two, as for floats. The loops are the ones that the host and the NPU multiply with.
double int8_gops(std::span<const int> cores) {
  const ActLoops& loops = *best_packed_loops().act;
  std::vector<int64_t> kept(cores.size());
  const double products = rate(cores, [&](size_t thread, int64_t) {
    kept[thread] = loops.peak(kInt8Rounds);
    return static_cast<double>(kInt8Rounds * loops.products_per_round);
  });
  for (int64_t value : kept)
    TANDEM_CHECK(value == 6 * kInt8Rounds * loops.products_per_round, "the chains of integer multiply-adds");
  return 2 * products * 1e-9;
}

// Each thread reads a part of its own over and over. It reads a block again only after the whole part went
// through the caches.
double read_gbps(std::span<const int> cores, std::span<const uint32_t> buffer) {
  const RooflineLoops& loops = roofline_loops();
  // Blocks in each thread's part.
  const int64_t blocks = static_cast<int64_t>(buffer.size()) / kBlockWords / static_cast<int64_t>(cores.size());
  std::vector<uint32_t> kept(cores.size());
  const double bytes = rate(cores, [&](size_t thread, int64_t block) {
    const int64_t at = static_cast<int64_t>(thread) * blocks + block % blocks;
    kept[thread] |= loops.read(buffer.data() + at * kBlockWords, kBlockWords);
    return static_cast<double>(kBlockWords * static_cast<int64_t>(sizeof(uint32_t)));
  });
  for (uint32_t value : kept) TANDEM_CHECK(value != 0, "what was read is not what was written");
  return bytes * 1e-9;
}

}  // namespace

size_t cache_size_of(const std::string& text) {
  size_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (failed != std::errc() || (unit != "" && unit != "K" && unit != "M")) return 0;
  return unit == "K" ? number << 10 : unit == "M" ? number << 20 : number;
}

// The buffer is several times as large as the last-level cache, so reading it reads memory. Writing it once gives it
// pages of its own.
RooflineProbe::RooflineProbe(std::vector<int> cores) : cores_(std::move(cores)) {
  TANDEM_CHECK(!cores_.empty(), "no core to measure");
  const size_t bytes = std::max(kLeastBytes, kTimesCache * last_level_cache_bytes());
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error("no memory for the buffer that --roofline reads", std::to_string(bytes) + " bytes",
                "Close other programs");
  madvise(mapped, bytes, MADV_HUGEPAGE);  // advice only, as for the weights
  words_ = bytes / sizeof(uint32_t);
  buffer_ = static_cast<uint32_t*>(mapped);
  std::fill_n(buffer_, words_, 1u);
}

RooflineProbe::~RooflineProbe() { munmap(buffer_, buffer_bytes()); }

// First one core alone, then all cores. With a single core both figures are the same.
CorePeaks RooflineProbe::measure(bool with_integers) {
  const std::span<const int> all(cores_), one = all.first(1);
  const std::span<const uint32_t> buffer(buffer_, words_);
  CorePeaks peaks;
  peaks.fma_one_gflops = fma_gflops(one);
  peaks.read_one_gbps = read_gbps(one, buffer);
  peaks.int8_one_gops = with_integers ? int8_gops(one) : 0;
  const bool several = all.size() > 1;
  peaks.fma_all_gflops = several ? fma_gflops(all) : peaks.fma_one_gflops;
  peaks.read_all_gbps = several ? read_gbps(all, buffer) : peaks.read_one_gbps;
  peaks.int8_all_gops = several && with_integers ? int8_gops(all) : peaks.int8_one_gops;
  return peaks;
}

}  // namespace tandem
