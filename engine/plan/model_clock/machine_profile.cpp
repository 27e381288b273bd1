#include "engine/plan/model_clock/machine_profile.h"

#include <algorithm>
#include <cstdio>

#include "npu_emu/memory_model.h"
#include "npu_emu/params.h"
#include "sync/error.h"

namespace tandem {
namespace {

// From these numbers of tokens on, unpacking the weights is a small part of a product.
constexpr int64_t kManyTokens = 32, kNpuManyTokens = 16;
constexpr int64_t kDecodeTokens = 8;  // every size up to it is a graph
constexpr int64_t kCells = 32;        // multiply-adds of two 512-bit vector units a cycle
constexpr npu_emu::ArrayShape kCell{1, 1};
constexpr double kActivationBytes = 4;
constexpr double kWideBytes = 1e15;  // a capacity or a rate that nothing reaches

// Bytes of the weights, of the input and of the output.
double bytes_of(const MatMulPoint& point) {
  return weight_bytes(point) + static_cast<double>(point.S * (point.K + point.rows)) * kActivationBytes;
}

// Cycles of the product on kCells cells. With kWideBytes, neither fills nor blocks take part in the result.
double cycles_of(const MatMulPoint& point) {
  const npu_emu::ChipMemory memory{kCells, static_cast<int64_t>(kWideBytes), kWideBytes, kWideBytes};
  const auto cost =
      npu_emu::tiled_cost(kCell, 1, memory, npu_emu::Dataflow::input_stationary, {point.S, point.K, point.rows});
  return static_cast<double>(cost.cycles);
}

// The amounts and times of all points for which `wanted` is true.
template <typename Wanted, typename Amount>
std::vector<Timed> timed(std::span<const MeasuredPoint> points, Wanted wanted, Amount amount) {
  std::vector<Timed> result;
  for (const MeasuredPoint& point : points)
    if (wanted(point.point)) result.push_back({amount(point.point), point.seconds});
  return result;
}

// A matmul of a single token is bound by reading its weights, so its bytes and seconds show the bandwidth.
std::vector<Timed> reading(std::span<const MeasuredPoint> points) {
  return timed(
      points, [](const MatMulPoint& point) { return !point.both && point.S == 1; }, bytes_of);
}

// Matmuls of many tokens are bound by arithmetic, so they show the rate.
double multiplying(std::span<const MeasuredPoint> points) {
  return least_squares_rate(
      timed(
          points, [](const MatMulPoint& point) { return !point.both && point.S >= kManyTokens; }, flops),
      "matmuls of 32 tokens and more on the GPU");
}

// The clock with which the array's cycles explain the measured seconds best.
double clock(std::span<const MeasuredPoint> points) {
  return least_squares_rate(
      timed(
          points, [](const MatMulPoint& point) { return !point.both && point.S >= kNpuManyTokens; }, cycles_of),
      "matmuls of 16 tokens and more on the NPU");
}

// Each number of `place` becomes the mean over the rounds.
void average(std::span<const MachineMeasurements> rounds, MachineMeasurements& mean,
             double MachineMeasurements::*place) {
  mean.*place = 0;
  for (const MachineMeasurements& round : rounds) mean.*place += round.*place / static_cast<double>(rounds.size());
}
// The same for the seconds of each point; amounts and shapes stay those of the first round.
template <typename Measured>
void average(std::span<const MachineMeasurements> rounds, MachineMeasurements& mean,
             std::vector<Measured> MachineMeasurements::*place) {
  for (size_t i = 0; i < (mean.*place).size(); ++i) {
    double sum = 0;
    for (const MachineMeasurements& round : rounds) {
      TANDEM_CHECK((round.*place).size() == (mean.*place).size(), "rounds that measured the same points");
      sum += (round.*place)[i].seconds;
    }
    (mean.*place)[i].seconds = sum / static_cast<double>(rounds.size());
  }
}

}  // namespace

MachineMeasurements mean_of(std::span<const MachineMeasurements> rounds) {
  TANDEM_CHECK(!rounds.empty(), "a machine is measured at least once");
  MachineMeasurements mean = rounds.front();
  average(rounds, mean, &MachineMeasurements::gpu);
  average(rounds, mean, &MachineMeasurements::npu);
  average(rounds, mean, &MachineMeasurements::attention);
  average(rounds, mean, &MachineMeasurements::token_attention);
  average(rounds, mean, &MachineMeasurements::kernel_seconds);
  average(rounds, mean, &MachineMeasurements::shared_bytes_per_second);
  average(rounds, mean, &MachineMeasurements::token_join_seconds);
  average(rounds, mean, &MachineMeasurements::prompt_join_seconds);
  return mean;
}

// r = sum q^2 / sum q, with q = amount / seconds (see the header).
double least_squares_rate(std::span<const Timed> points, const char* of) {
  double sum = 0, squares = 0;
  for (const Timed& point : points) {
    const double rate = point.amount / point.seconds;
    sum += rate;
    squares += rate * rate;
  }
  if (sum <= 0) throw Error("a rate needs measured points", of, "Take a model and devices that have them");
  return squares / sum;
}

// Sets every key in the order of the profile's sections. measure() writes measured values, set() all others. Capacities
// and rates that the emulator's time does not show are kWideBytes, so they never decide a time.
SocProfile machine_profile(const MachineMeasurements& measured) {
  SocProfile profile;
  profile.name = "this-machine";
  profile.description = measured.machine + ", measured " + measured.date;
  const std::string here = " (" + measured.machine + ", " + measured.date + ")";
  const auto set = [&](const char* key, double value, const std::string& source) {
    set_number(profile, key, value, source);
  };
  const auto measure = [&](const char* key, double value, const std::string& how) {
    set(key, value, "measured: " + how + here);
  };

  // H13: one processor alone does not use all of the memory's bandwidth. So each has a rate of its own, beside the rate
  // of both together.
  const double gpu_rate = least_squares_rate(reading(measured.gpu), "matmuls of a single token on the GPU");
  const double npu_rate = least_squares_rate(reading(measured.npu), "matmuls of a single token on the NPU");
  const double shared_rate = measured.shared_bytes_per_second;
  measure("memory.shared_bytes_per_second", shared_rate,
          "all matmuls of a single token, cut between both devices, nobody waiting; their rates added up, median");
  set("memory.peak_bytes_per_second", std::max({shared_rate, gpu_rate, npu_rate}),
      "from measured ones: the largest of the three rates; no time depends on it");

  measure("gpu.flops", multiplying(measured.gpu), "matmuls of 32 tokens and more, least squares");
  measure("gpu.attention_flops", least_squares_rate(measured.attention, "attention of several tokens on the GPU"),
          "attention of several tokens at several depths, least squares");
  measure("gpu.decode_attention_flops",
          least_squares_rate(measured.token_attention, "attention of a single token on the GPU"),
          "attention of a single token at several depths, least squares");
  measure("gpu.bytes_per_second", gpu_rate, "matmuls of a single token, least squares");
  measure("gpu.submit_seconds", measured.kernel_seconds, "small operators of a single token, median");
  measure("gpu.submit_empty_seconds", std::max(0.0, measured.prompt_join_seconds - measured.token_join_seconds),
          "as sync.fast_seconds, of several tokens, less that of a single one: what a launch that waited takes more");

  // The array's shape is assumed, and its clock is fitted. So the clock is not the frequency of any real part.
  profile.npu.float16 = true;
  profile.sources["npu.float16"] = "the emulator multiplies 16-bit floats";
  const std::string cells = "assumption: two vector units of 16 multiply-adds a cycle; the clock is fitted to it";
  set("npu.array_rows", static_cast<double>(kCell.rows), cells);
  set("npu.array_cols", static_cast<double>(kCell.cols), cells);
  set("npu.arrays", static_cast<double>(kCells), cells);
  measure("npu.clock_hz", clock(measured.npu), "cycles of matmuls of 16 tokens and more, least squares");
  const std::string no_blocks = "assumption: the emulator's time shows neither blocks nor fills";
  set("npu.stationary_bytes", kWideBytes, no_blocks);
  set("npu.fill_bytes_per_second", kWideBytes, no_blocks);
  set("npu.stream_bytes_per_second", kWideBytes, "assumption: weights stream as the memory brings them");
  measure("npu.bytes_per_second", npu_rate, "matmuls of a single token, least squares");
  set("npu.weight_bytes", 2, "as the emulator multiplies them");
  set("npu.decode_weight_bytes", 2, "as the emulator multiplies them");
  set("npu.decode_tokens", static_cast<double>(kDecodeTokens), "the engine's graphs");
  std::ranges::copy_if(measured.npu_graph_tokens, std::back_inserter(profile.npu.graph_tokens),
                       [](int64_t tokens) { return tokens > kDecodeTokens; });
  profile.sources["npu.graph_tokens"] = "the engine's graphs";
  set("npu.launch_seconds", 0, "a part of sync.fast_seconds, with which it was measured");
  const npu_emu::CompilerParams compiler;
  set("npu.compile_graph_seconds", compiler.fixed_seconds + compiler.matmul_seconds,
      "taken over from the emulator's compiler, modelled");
  set("npu.compile_element_seconds", compiler.byte_seconds * kActivationBytes,
      "taken over from the emulator's compiler, modelled: 4 bytes an element");

  set("sync.copy_seconds", 0, "assumption: both devices work on the same memory, so that nothing is copied");
  set("sync.blocking_seconds", 50e-6, "assumption: waking a thread");
  measure("sync.fast_seconds", measured.token_join_seconds / 2,
          "half of what waiting for each other costs a matmul of a single token, cut between both; median");
  set("sync.sleep_seconds", 50e-6, "assumption: the timer slack that Linux has by default");

  // An NPU that multiplies in every cycle draws its static power, and the energy of each cell's product at the
  // fitted clock.
  const npu_emu::EnergyParams energy;
  const double macs = profile.npu.clock_hz * static_cast<double>(kCells);
  const std::string no_watts = "assumption: not measured; energy is the NPU's alone";
  set("power.base_watts", 0, no_watts);
  set("power.gpu_watts", 0, no_watts);
  set("power.npu_watts", energy.static_watts + macs * energy.mac_fp16_joules,
      "taken over from the emulator's energy model, modelled: static, and the cells at the fitted clock");
  set("power.cpu_watts", 0, no_watts);
  set("load.gpu_share", 0, "assumption: nothing renders");
  set("load.period_seconds", 1.0 / 60, "assumption: 60 frames a second");

  set("weight_bits", 0, "as the packed format has it");
  set("activation_bytes", kActivationBytes, "the engine's activations are 32-bit floats");
  set("row_step", static_cast<double>(kPanelRows), "the engine's panels");
  set("token_step", 32, "the engine's step");
  profile.joined_matmuls = true;
  profile.sources["joined_matmuls"] = "the engine's graph";
  return profile;
}

}  // namespace tandem
