// Fits the constants of a phone's profile to rows of the paper. Most constants have a row of their own, so a fit is a
// search along one number. Rounds repeat because constants influence each other a little.
#include "bench/paper_heterollm/calibrate.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "bench/paper_heterollm/quantities.h"

namespace tandem::paper_heterollm {
namespace {

// A fit is a constant, the printed number that fixes it, its bounds, and the number that the model gives.
Fit gpu_rate_fit() {
  return {"gpu.flops",  "HF17, HF42, HF52: PPL, Llama-8B, 256 tokens, 63.7 tok/s",
          1e11,         1e13,
          kPplSpeed256, [](Lab& lab) { return lab.tokens_per_second(prefill(kL8, 256, kPpl)); }};
}

// The fits of the NPU's constants, for one capacity.
std::vector<Fit> npu_fits() {
  return {
      {"npu.stream_bytes_per_second", "HF42, HF52: Hetero-layer, Llama-8B, 256 tokens, 190.5 tok/s", 1e9, 1e12,
       kLayerSpeed256, [](Lab& lab) { return lab.tokens_per_second(prefill(kL8, 256, kLayer)); }},
      {"npu.fill_bytes_per_second", "HF4: 6 times between the orders of the operands", 1e8, 1e12, 6,
       [](Lab& lab) { return npu_rate(lab, 256, 4096, 14336) / npu_rate_reversed(lab, 256, 4096, 14336); }},
      {"gpu.attention_flops", "HF20, HF22, HF24: Hetero-layer, Llama-8B, 1024 tokens, 180.4 tok/s", 1e10, 1e12,
       kLayerSpeed1024, [](Lab& lab) { return lab.tokens_per_second(prefill(kL8, 1024, kLayer)); }},
      {"npu.launch_seconds", "HF31: computing with graphs of 135 tokens, Llama-8B, 0.772 s", 1e-6, 1e-3,
       kOnlineComputing135, [](Lab& lab) { return lab.run(prefill(kL8, 135, "online")).seconds; }},
  };
}

// The fit that only the capacity can meet.
Fit capacity_fit() {
  return {"npu.stationary_bytes",
          "HF7: FFN-down's share of prefill, Llama-8B, 256 tokens, 0.48 (`nearly half`)",
          0,
          0,
          0.48,
          [](Lab& lab) { return ffn_down_share(lab.run(prefill(kL8, 256, kLayer))); }};
}

// Decode is bound by reading weights, so its speed fixes their bits and then the cost of a crossing.
std::vector<Fit> decode_fits() {
  return {
      {"weight_bits", "HF36, HF39: PPL decoding, Llama-8B, 11.35 tok/s", 4.0, 4.5, kPplDecode,
       [](Lab& lab) { return lab.tokens_per_second(decode(kL8, kPpl)); }},
      {"sync.fast_seconds", "HF36: Hetero-tensor decoding, Llama-8B, 14.01 tok/s", 1e-6, 1e-4, kTensorDecode,
       [](Lab& lab) { return lab.tokens_per_second(decode(kL8, kTensor)); }},
  };
}

// The game's share of the GPU.
Fit load_fit() {
  return {"load.gpu_share",
          "HF47: Hetero-layer beside the game, Llama-8B, 256 tokens, 0.9043",
          0.01,
          0.95,
          0.9043,
          [](Lab& lab) {
            const Setting alone = prefill(kL8, 256, kLayer);
            return speed_up(lab, beside_game(alone), alone);
          }};
}

double model(const SocProfile& profile, Decoders& decoders, const Fit& fit) {
  Lab lab(profile, decoders);
  return fit.modelled(lab);
}

// Finds the value of one constant at which the model gives the printed number, with all others as they are.
void apply(SocProfile& profile, Decoders& decoders, const Fit& fit) {
  const auto tried = [&](double value) {
    SocProfile copy = profile;
    set_number(copy, fit.key, value, "");
    return model(copy, decoders, fit);
  };
  set_number(profile, fit.key, paper::bisect(tried, fit.least, fit.most, fit.printed), fit.from);
}

// Each fit moves the others' numbers a little. After a dozen rounds even the last digit of a launch no longer changes.
constexpr int kCoarseRounds = 4, kFineRounds = 16;

void apply_all(SocProfile& profile, Decoders& decoders, const std::vector<Fit>& fits, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (const Fit& fit : fits) apply(profile, decoders, fit);
}

double squared_error(const SocProfile& profile, Decoders& decoders, const std::vector<Fit>& fits) {
  double sum = 0;
  for (const Fit& fit : fits) {
    const double error = model(profile, decoders, fit) / fit.printed - 1;
    sum += error * error;
  }
  return sum;
}

// Every capacity in the list gets its own fits of the NPU's constants. The one whose numbers fit best stays.
void fit_capacity(SocProfile& profile, Decoders& decoders, const Capacities& capacities,
                  const std::function<void(const std::string&)>& says) {
  std::vector<Fit> judged = npu_fits();
  judged.push_back(capacity_fit());
  SocProfile best = profile;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t bytes = capacities.least_bytes; bytes <= capacities.most_bytes; bytes += 128 << 10) {
    SocProfile tried = profile;
    tried.npu.stationary_bytes = bytes;
    apply_all(tried, decoders, npu_fits(), kCoarseRounds);
    const double error = squared_error(tried, decoders, judged);
    char line[96];
    std::snprintf(line, sizeof line, "capacity %5lld KiB: residual %.4f", static_cast<long long>(bytes >> 10),
                  std::sqrt(error));
    says(line);
    if (error < least * (1 - 1e-6)) best = tried, least = error;
  }
  profile = best;
  profile.sources["npu.stationary_bytes"] = capacity_fit().from;
}

// compile = graphs * per graph + elements * per element, for 135 and for 1000 tokens: two equations with two unknowns.
void fit_compile_line(SocProfile& profile, Decoders& decoders) {
  const auto parts = [&](int64_t tokens, bool graphs) {
    SocProfile unit = profile;
    unit.npu.compile_graph_seconds = graphs ? 1 : 0;
    unit.npu.compile_element_seconds = graphs ? 0 : 1;
    return Lab(unit, decoders).run(prefill(kL8, tokens, "online")).compile_seconds;
  };
  const double g1 = parts(135, true), e1 = parts(135, false), g2 = parts(1000, true), e2 = parts(1000, false);
  const double t1 = 0.4084, t2 = 2.05, determinant = g1 * e2 - g2 * e1;
  const char* from = "HF31, HF32: preparing graphs, Llama-8B, 408.4 ms at 135 and 2050 ms at 1000 tokens";
  set_number(profile, "npu.compile_graph_seconds", (t1 * e2 - t2 * e1) / determinant, from);
  set_number(profile, "npu.compile_element_seconds", (g1 * t2 - g2 * t1) / determinant, from);
}

// Power needs the time that each processor works in the three plans whose watts are printed.
struct Busy {
  double gpu, npu;  // shares of the run
};
// Shares of a pass in which each processor works, for the fit of power.
Busy busy_shares(SocProfile profile, Decoders& decoders, const char* plan) {
  Lab lab(std::move(profile), decoders);
  const ModelRun& run = lab.run(prefill(kL8, 256, plan));
  return {run.devices[0].busy_seconds / run.seconds, run.devices[1].busy_seconds / run.seconds};
}

// watts = base + gpu * share + npu * share for three plans. It is a least-squares fit of the relative errors, with
// watts >= 0. A search runs over the two processors' watts; the base is then the weighted mean of the rest.
void fit_power(SocProfile& profile, Decoders& decoders) {
  const std::array<Busy, 3> shares = {busy_shares(profile, decoders, kLayer), busy_shares(profile, decoders, kTensor),
                                      busy_shares(profile, decoders, kPpl)};
  const std::array<double, 3> printed = {kLayerWatts, kTensorWatts, kPplWatts};
  constexpr double kStep = 0.01, kMost = 6;
  double least = std::numeric_limits<double>::infinity();
  std::array<double, 3> best{};
  for (double gpu = 0; gpu <= kMost; gpu += kStep) {
    for (double npu = 0; npu <= kMost; npu += kStep) {
      double weighted = 0, weights = 0;  // the base with the least relative error
      for (size_t i = 0; i < 3; ++i) {
        const double left = printed[i] - gpu * shares[i].gpu - npu * shares[i].npu;
        weighted += left / (printed[i] * printed[i]);
        weights += 1 / (printed[i] * printed[i]);
      }
      const double base = std::max(0.0, weighted / weights);
      double error = 0;
      for (size_t i = 0; i < 3; ++i) {
        const double relative = (base + gpu * shares[i].gpu + npu * shares[i].npu) / printed[i] - 1;
        error += relative * relative;
      }
      if (error < least) least = error, best = {base, gpu, npu};
    }
  }
  const char* from =
      "HF50, HF51: 2.23 W, 2.75 W and 4.34 W of Hetero-layer, Hetero-tensor and PPL, Llama-8B, 256 tokens";
  set_number(profile, "power.base_watts", best[0], from);
  set_number(profile, "power.gpu_watts", best[1], from);
  set_number(profile, "power.npu_watts", best[2], from);
}

// The rows of constants that no bisection finds. They are here for their residuals.
std::vector<Fit> power_rows() {
  const auto watts = [](const char* plan) {
    return [plan](Lab& lab) { return lab.run(prefill(kL8, 256, plan)).watts(); };
  };
  return {{"power.base_watts", "HF50, HF51: power of Hetero-layer, 2.23 W", 0, 0, kLayerWatts, watts(kLayer)},
          {"power.gpu_watts", "HF51: power of PPL, 4.34 W", 0, 0, kPplWatts, watts(kPpl)},
          {"power.npu_watts", "HF51: power of Hetero-tensor, 2.75 W", 0, 0, kTensorWatts, watts(kTensor)}};
}

std::vector<Fit> compile_rows() {
  const auto compile = [](int64_t tokens) {
    return [tokens](Lab& lab) { return lab.run(prefill(kL8, tokens, "online")).compile_seconds; };
  };
  return {{"npu.compile_graph_seconds", "HF31, HF32: preparing graphs, Llama-8B, 135 tokens, 408.4 ms", 0, 0, 0.4084,
           compile(135)},
          {"npu.compile_element_seconds", "HF31, HF32: preparing graphs, Llama-8B, 1000 tokens, 2050 ms", 0, 0, 2.05,
           compile(1000)}};
}

// All of them, in the order in which they are fitted, for the table of residuals.
std::vector<Fit> every_fit() {
  std::vector<Fit> fits = {gpu_rate_fit()};
  for (const auto& more : {npu_fits(), {capacity_fit()}, compile_rows(), decode_fits(), power_rows(), {load_fit()}}) {
    fits.insert(fits.end(), more.begin(), more.end());
  }
  return fits;
}

}  // namespace

// The order of the fits: rates first, then the capacity beside them, then what depends on those. The constants are
// rounded before the residuals are taken, so residuals are those of the profile that is written.
Calibration calibrate(const SocProfile& start, Decoders& decoders, const Capacities& capacities,
                      const std::function<void(const std::string&)>& says) {
  SocProfile profile = start;
  std::vector<Fit> rates = {gpu_rate_fit()};
  for (const auto& more : {decode_fits(), npu_fits()}) rates.insert(rates.end(), more.begin(), more.end());
  // The capacity is chosen twice, because the other constants are still far off the first time.
  for (int pass = 0; pass < 2; ++pass) {
    apply_all(profile, decoders, rates, kCoarseRounds);
    fit_capacity(profile, decoders, capacities, says);
  }
  apply_all(profile, decoders, rates, kFineRounds);
  fit_compile_line(profile, decoders);
  fit_power(profile, decoders);
  apply(profile, decoders, load_fit());

  Calibration result{profile, {}};
  const std::vector<Fit> fits = every_fit();
  for (const Fit& fit : fits)
    set_number(result.profile, fit.key, paper::rounded(number_of(profile, fit.key), 4), fit.from);
  for (const Fit& fit : fits) {
    const Residual residual{fit.key, fit.from, number_of(result.profile, fit.key), fit.printed,
                            model(result.profile, decoders, fit)};
    char note[64];
    std::snprintf(note, sizeof note, "; modelled %.4g (%+.1f %%)", residual.modelled, 100 * residual.error());
    result.profile.sources[fit.key] = "calibrated: " + fit.from + note;
    result.residuals.push_back(residual);
  }
  return result;
}

}  // namespace tandem::paper_heterollm
