// HF1 to HF13: the behaviour of one processor (H13).
#include <algorithm>

#include "bench/paper_heterollm/quantities.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {
namespace {

constexpr double kTera = 1e12;

// The largest time of a matmul with every side below 32, divided by the smallest one. It uses two tokens and more,
// because a single token takes the decode graph.
double stage_ratio(Lab& lab) {
  std::vector<double> seconds;
  for (const int64_t S : {2, 7, 31})
    for (const int64_t K : {1, 16, 31})
      for (const int64_t N : {1, 5, 31}) seconds.push_back(npu_seconds(lab, S, K, N));
  const auto [least, most] = std::ranges::minmax(seconds);
  return most / least;
}

// An input of the profile: the paper prints it and the model takes it.
Row input(const char* id, const char* what, const char* unit, double low, double high, const char* key) {
  return {id,
          what,
          unit,
          low,
          high,
          Use::input,
          Kind::absolute,
          [key](Lab& lab) { return number_of(lab.profile(), key); },
          std::string("profile: ") + key};
}

}  // namespace

// One processor alone. Rates follow from the array's size and clock; HF4 and HF7 fix the two constants of its memory.
void add_processor_rows(std::vector<Row>& rows) {
  rows.push_back({"HF1", "GPU rate of a large matmul", "TFLOPS", 1, 1, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return gpu_rate(lab, 1024, 4096, 4096) / kTera; }, ""});
  rows.push_back({"HF2", "NPU best rate, up to", "TFLOPS", 0, 10, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return best_npu_rate(lab) / kTera; }, "arrays and clock were chosen for it"});
  rows.push_back({"HF3", "NPU: every side below 32, slowest over fastest", "x", 1, 1, Use::held_out, Kind::exact,
                  stage_ratio, ""});
  rows.push_back({"HF4", "NPU: [14336,4096] x [4096,256] over the reverse order", "x", 6, 6, Use::calibration,
                  Kind::ratio,
                  [](Lab& lab) { return npu_rate(lab, 256, 4096, 14336) / npu_rate_reversed(lab, 256, 4096, 14336); },
                  "the short side is not printed; read as 256"});
  rows.push_back(
      {"HF5", "NPU, [256,4096] x [4096, 2^20] with stationary weights, over the GPU", "x", 1, 1, Use::held_out,
       Kind::ratio,
       [](Lab& lab) { return npu_rate_reversed(lab, 256, 4096, 1 << 20) / gpu_rate(lab, 256, 4096, 1 << 20); },
       "printed as `regresses to the GPU level`"});
  for (const int64_t S : {256, 1024}) {
    rows.push_back({"HF6", "NPU over GPU, FFN-down of Llama-8B, " + std::to_string(S) + " tokens", "x", 0.5, 1.5,
                    Use::held_out, Kind::ratio,
                    [S](Lab& lab) { return npu_rate(lab, S, 14336, 4096) / gpu_rate(lab, S, 14336, 4096); }, ""});
  }
  rows.push_back({"HF7", "FFN-down's share of Hetero-layer's prefill, Llama-8B, 256 tokens", "", 0.48, 0.48,
                  Use::calibration, Kind::ratio,
                  [](Lab& lab) { return ffn_down_share(lab.run(prefill(kL8, 256, kLayer))); },
                  "printed as `nearly half`; read as 0.48"});
  rows.push_back({"HF8", "NPU over GPU, best shapes", "x", 10, 10, Use::held_out, Kind::ratio,
                  [](Lab& lab) { return best_npu_rate(lab) / gpu_rate(lab, 1024, 4096, 4096); },
                  "printed as `an order of magnitude`"});
  rows.push_back({"HF8", "NPU over GPU, FFN-gate of Llama-8B, 32 tokens", "x", 1, 1, Use::unpredicted, Kind::ratio,
                  [](Lab& lab) { return npu_rate(lab, 32, 4096, 14336) / gpu_rate(lab, 32, 4096, 14336); },
                  "printed as `similar` at short lengths, without a number"});
  rows.push_back(input("HF9", "bandwidth of one processor", "B/s", 40e9, 45e9, "npu.bytes_per_second"));
  rows.push_back(input("HF9", "bandwidth of the memory", "B/s", 68e9, 68e9, "memory.peak_bytes_per_second"));
  rows.push_back(input("HF10", "bandwidth, GPU decoding alone", "B/s", 43.3e9, 43.3e9, "gpu.bytes_per_second"));
  rows.push_back(input("HF10", "bandwidth, both decoding", "B/s", 59.1e9, 59.1e9, "memory.shared_bytes_per_second"));
  rows.push_back(input("HF11", "driver copy", "s", 400e-6, 400e-6, "sync.copy_seconds"));
  rows.push_back(input("HF11", "blocking synchronisation, at least", "s", 400e-6, 400e-6, "sync.blocking_seconds"));
  rows.push_back(input("HF12", "kernel submission, queue busy", "s", 10e-6, 20e-6, "gpu.submit_seconds"));
  rows.push_back(
      input("HF12", "kernel submission, more after an empty queue", "s", 50e-6, 100e-6, "gpu.submit_empty_seconds"));
  rows.push_back(input("HF13", "granularity of usleep", "s", 80e-6, 100e-6, "sync.sleep_seconds"));
}

}  // namespace tandem::paper_heterollm
