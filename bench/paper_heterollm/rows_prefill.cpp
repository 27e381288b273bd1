// HF17 to HF35: prefill, at standard lengths and at others.
#include <algorithm>
#include <initializer_list>

#include "bench/paper_heterollm/peer_row.h"
#include "bench/paper_heterollm/quantities.h"
#include "bench/paper_heterollm/row.h"

namespace tandem::paper_heterollm {
namespace {

constexpr const char* kSmallGraphs =
    "over the lengths the text names; modelled, every graph reads all weights, so small ones cost more than printed";
const std::initializer_list<int64_t> kLengths = {64, 256, 1024};

double speed(Lab& lab, const char* model, int64_t S, const char* plan) {
  return lab.tokens_per_second(prefill(model, S, plan));
}

// The largest or the smallest ratio of Hetero-layer to the four other engines.
double layer_over_peers(Lab& lab, int64_t S, bool largest) {
  const double layer = speed(lab, kL8, S, kLayer);
  std::vector<double> ratios = {layer / speed(lab, kL8, S, kPpl)};
  for (const PeerEngine& engine : {mnn(), llama_cpp(), mlc()}) ratios.push_back(layer / prefill_speed(engine, kL8));
  return largest ? *std::ranges::max_element(ratios) : *std::ranges::min_element(ratios);
}

// The lengths of the paper's figures at which graphs fit exactly.
double mean_over_lengths(const std::function<double(int64_t)>& value) {
  double sum = 0;
  for (const int64_t S : kLengths) sum += value(S);
  return sum / static_cast<double>(kLengths.size());
}

double tensor_over_layer(Lab& lab, const char* model, int64_t S) {
  return speed_up(lab, prefill(model, S, kTensor), prefill(model, S, kLayer));
}

// The lengths that the paper names; the first two are slightly above a standard size.
const std::initializer_list<int64_t> kMisaligned = {135, 525, 1000};

double over_tensor(Lab& lab, int64_t S, const char* baseline) {
  return speed_up(lab, prefill(kL8, S, kTensor), prefill(kL8, S, baseline));
}

// HF17 to HF25: lengths that have a graph of their size. Another engine is one rate, which its first ratio fixes. Its
// other ratios are no judgement of the model.
void add_aligned(std::vector<Row>& rows) {
  rows.push_back(against_peer("HF17", "Hetero-layer over MNN, Llama-8B, 256 tokens", 5.85, Use::calibration, mnn,
                              prefill(kL8, 256, kLayer)));
  rows.push_back(against_peer("HF17", "Hetero-layer over llama.cpp, Llama-8B, 256 tokens", 24.9, Use::calibration,
                              llama_cpp, prefill(kL8, 256, kLayer)));
  rows.push_back(against_peer("HF17", "Hetero-layer over MLC, Llama-8B, 256 tokens", 5.64, Use::calibration, mlc,
                              prefill(kL8, 256, kLayer)));
  rows.push_back({"HF17", "Hetero-layer over PPL, Llama-8B, 256 tokens", "x", 2.99, 2.99, Use::calibration, Kind::ratio,
                  [](Lab& lab) { return speed_up(lab, prefill(kL8, 256, kLayer), prefill(kL8, 256, kPpl)); },
                  "fixes the GPU's and the NPU's rates"});
  rows.push_back({"HF18", "Hetero-layer over the four engines, least, Llama-8B, 64 tokens", "x", 3.67, 3.67, Use::peer,
                  Kind::ratio, [](Lab& lab) { return layer_over_peers(lab, 64, false); }, kSlowPeers});
  rows.push_back({"HF18", "Hetero-layer over the four engines, most, Llama-8B, 64 tokens", "x", 14.36, 14.36, Use::peer,
                  Kind::ratio, [](Lab& lab) { return layer_over_peers(lab, 64, true); }, kSlowPeers});
  rows.push_back({"HF19", "Hetero-layer over the four engines, least, Llama-8B, 1024 tokens", "x", 3.17, 3.17,
                  Use::peer, Kind::ratio, [](Lab& lab) { return layer_over_peers(lab, 1024, false); }, kSlowPeers});
  rows.push_back({"HF19", "Hetero-layer over the four engines, most, Llama-8B, 1024 tokens", "x", 25.12, 25.12,
                  Use::peer, Kind::ratio, [](Lab& lab) { return layer_over_peers(lab, 1024, true); }, kSlowPeers});
  rows.push_back(against_peer("HF20", "Hetero-layer over llama.cpp, Llama-8B, 1024 tokens", 25.1, Use::calibration,
                              llama_cpp, prefill(kL8, 1024, kLayer)));
  rows.back().note = "with HF22 and HF24: fixes the rate of attention";
  rows.push_back(against_peer("HF20", "Hetero-layer over MLC, Llama-8B, 1024 tokens", 7.27, Use::peer, mlc,
                              prefill(kL8, 1024, kLayer)));
  rows.push_back(against_peer("HF20", "Hetero-layer over MNN, Llama-8B, 1024 tokens", 3.18, Use::peer, mnn,
                              prefill(kL8, 1024, kLayer)));
  rows.push_back({"HF21", "Hetero-tensor over Hetero-layer, Llama-8B, mean of 64, 256, 1024 tokens", "x", 1.302, 1.302,
                  Use::held_out, Kind::ratio,
                  [](Lab& lab) { return mean_over_lengths([&](int64_t S) { return tensor_over_layer(lab, kL8, S); }); },
                  ""});
  rows.push_back(
      {"HF21", "Hetero-tensor over Hetero-layer, Llama-8B, 32 tokens", "x", 1.408, 1.408, Use::held_out, Kind::ratio,
       [](Lab& lab) { return tensor_over_layer(lab, kL8, 32); },
       "a length outside the figure's set; modelled, every graph reads all weights, so short ones leave the GPU more"});
  rows.push_back(against_peer("HF22", "Hetero-tensor over llama.cpp, Llama-8B, 1024 tokens", 34.5, Use::peer, llama_cpp,
                              prefill(kL8, 1024, kTensor)));
  rows.push_back(against_peer("HF22", "Hetero-tensor over MLC, Llama-8B, 1024 tokens", 9.99, Use::peer, mlc,
                              prefill(kL8, 1024, kTensor)));
  rows.push_back(against_peer("HF22", "Hetero-tensor over MNN, Llama-8B, 1024 tokens", 4.36, Use::peer, mnn,
                              prefill(kL8, 1024, kTensor)));
  rows.push_back({"HF23", "Hetero-tensor over Hetero-layer, Llama-8B, 1024 tokens", "x", 1.40, 1.40, Use::held_out,
                  Kind::ratio, [](Lab& lab) { return tensor_over_layer(lab, kL8, 1024); },
                  "length not printed; HF20 and HF22 give 1.374"});
  rows.push_back({"HF24", "Hetero-tensor, Llama-8B, 1024 tokens", "tok/s", kTensorSpeed1024, kTensorSpeed1024,
                  Use::shared, Kind::absolute, [](Lab& lab) { return speed(lab, kL8, 1024, kTensor); },
                  "with HF20 and HF22 it gives Hetero-layer's speed, which is fitted; HF23 tests the ratio"});
  rows.push_back({"HF25", "Hetero-tensor, InternLM-1.8B, 256 tokens", "tok/s", 1092, 1092, Use::held_out,
                  Kind::absolute, [](Lab& lab) { return speed(lab, kI1, 256, kTensor); }, ""});
}

// HF26 to HF29: models that no constant was fitted to.
void add_other_models(std::vector<Row>& rows) {
  const auto mean_over_peer = [](const char* model, PeerEngine (*engine)()) {
    return [=](Lab& lab) {
      return mean_over_lengths(
          [&](int64_t S) { return speed(lab, model, S, kTensor) / prefill_speed(engine(), model); });
    };
  };
  rows.push_back({"HF26", "Hetero-tensor over MNN, Llama-7B, mean", "x", 6.05, 6.05, Use::peer, Kind::ratio,
                  mean_over_peer(kL7, mnn), kSlowPeers});
  rows.push_back({"HF26", "Hetero-tensor over MLC, Llama-7B, mean", "x", 6.63, 6.63, Use::peer, Kind::ratio,
                  mean_over_peer(kL7, mlc), kSlowPeers});
  rows.push_back({"HF27", "Hetero-tensor over MNN, Llama-3B, mean", "x", 10.2, 10.2, Use::peer, Kind::ratio,
                  mean_over_peer(kL3, mnn), kSlowPeers});
  rows.push_back({"HF27", "Hetero-tensor over PPL, Llama-3B, mean", "x", 3.51, 3.51, Use::held_out, Kind::ratio,
                  [](Lab& lab) {
                    return mean_over_lengths(
                        [&](int64_t S) { return speed_up(lab, prefill(kL3, S, kTensor), prefill(kL3, S, kPpl)); });
                  },
                  "its FFN-down, K = 8192, makes larger blocks on chip than Llama-8B's"});
  rows.push_back({"HF28", "MLLM-NPU, 1.8 B, 256 tokens", "tok/s", 564, 564, Use::cited, Kind::absolute,
                  [](Lab& lab) { return lab.tokens_per_second(with_int8(prefill(kI1, 256, kLayer))); },
                  "from the paper's reference 26; modelled: InternLM-1.8B in the NPU's integer mode, no sparse "
                  "activations"});
  rows.push_back({"HF29",
                  "chunked prefill, rate at 256 over 1024 tokens",
                  "x",
                  0.5,
                  0.5,
                  Use::cited,
                  Kind::ratio,
                  {},
                  "from reference 26; its chunk is not printed"});
}

// HF30 to HF35: lengths between the sizes of graphs, where plans differ in what they do with the rest: new graphs,
// padding, pieces in sequence, or the GPU.
void add_misaligned(std::vector<Row>& rows) {
  for (const auto& [baseline, printed] : {std::pair{"online", 2.24}, {"padding", 2.21}, {"pipe", 1.35}}) {
    rows.push_back({"HF30", std::string("Hetero-tensor over `") + baseline + "`, Llama-8B, 525 tokens", "x", printed,
                    printed, Use::held_out, Kind::ratio,
                    [baseline = baseline](Lab& lab) { return over_tensor(lab, 525, baseline); },
                    baseline == std::string("online") ? "compile time on a line through 135 and 1000 tokens" : ""});
  }
  rows.push_back({"HF31", "preparing graphs, Llama-8B, 135 tokens", "s", 0.4084, 0.4084, Use::calibration,
                  Kind::absolute, [](Lab& lab) { return lab.run(prefill(kL8, 135, "online")).compile_seconds; },
                  "fixes the compile line"});
  rows.push_back({"HF31", "preparing graphs over all, Llama-8B, 135 tokens", "", 0.346, 0.346, Use::calibration,
                  Kind::ratio,
                  [](Lab& lab) {
                    const ModelRun& run = lab.run(prefill(kL8, 135, "online"));
                    return run.compile_seconds / (run.compile_seconds + run.seconds);
                  },
                  "computing takes 0.772 s: fixes the launch of a graph call"});
  rows.push_back({"HF32", "preparing graphs, Llama-8B, 1000 tokens", "s", 2.05, 2.05, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return lab.run(prefill(kL8, 1000, "online")).compile_seconds; },
                  "fixes the compile line"});
  rows.push_back({"HF33", "padding over Hetero-tensor, Llama-8B, mean of 135 and 525 tokens", "x", 1.91, 1.91,
                  Use::held_out, Kind::ratio,
                  [](Lab& lab) { return (over_tensor(lab, 135, "padding") + over_tensor(lab, 525, "padding")) / 2; },
                  kSmallGraphs});
  const auto against_pipe = [](bool most) {
    return [most](Lab& lab) {
      double extreme = most ? 1e9 : 0;
      for (const int64_t S : kMisaligned) {
        const double left = 1 / over_tensor(lab, S, "pipe");
        extreme = most ? std::min(extreme, left) : std::max(extreme, left);
      }
      return extreme;
    };
  };
  rows.push_back({"HF34", "Hetero-tensor's latency over pipe's, Llama-8B, largest", "x", 0.868, 0.868, Use::held_out,
                  Kind::ratio, against_pipe(false), std::string("printed as 13.2 % less; ") + kSmallGraphs});
  rows.push_back({"HF34", "Hetero-tensor's latency over pipe's, Llama-8B, smallest", "x", 0.699, 0.699, Use::held_out,
                  Kind::ratio, against_pipe(true), std::string("printed as 30.1 % less; ") + kSmallGraphs});
  rows.push_back({"HF35", "Hetero-tensor over padding, best of 135, 525, 1000 tokens", "x", 2.12, 2.12, Use::conflict,
                  Kind::ratio,
                  [](Lab& lab) {
                    double best = 0;
                    for (const int64_t S : kMisaligned) best = std::max(best, over_tensor(lab, S, "padding"));
                    return best;
                  },
                  "HF30 prints 2.21 for one length"});
}

}  // namespace

void add_prefill_rows(std::vector<Row>& rows) {
  add_aligned(rows);
  add_other_models(rows);
  add_misaligned(rows);
}

}  // namespace tandem::paper_heterollm
