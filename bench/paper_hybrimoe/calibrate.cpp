#include "bench/paper_hybrimoe/calibrate.h"

#include "bench/paper_hybrimoe/printed.h"

namespace tandem::paper_hybrimoe {
namespace {

// kTransformers' time with one machine: a token, or the mean prompt of Table III.
double kt_ms(Lab& lab, const Machine& machine, bool text) {
  lab.use(machine);
  return text ? lab.token_ms(Mixture::qwen2, 25, EngineKind::kt) : lab.table3_prompt_ms(EngineKind::kt);
}

// sigma is the spread of experts' popularity in a real trace. With it, rho makes LRU hit as often as printed.
void fit_routing(Calibration& fitted) {
  const auto fixed_share = [](double sigma) { return drawn_hits({sigma, 0}, 64, 6, 16, CacheRule::fixed, true); };
  fitted.sigma = paper::bisect(fixed_share, 0.01, 1, kFixedShareOfTrace);
  fitted.residuals.push_back({"sigma", "share of a fixed quarter of FLAME's experts", fitted.sigma, kFixedShareOfTrace,
                              fixed_share(fitted.sigma)});
  for (const CacheHits& printed : kHitsAtQuarter) {
    const MixtureSize& size = size_of(printed.model);
    const auto hits = [&](double rho) {
      return drawn_hits({fitted.sigma, rho}, size.experts, size.used, cached_experts(printed.model, 25), CacheRule::lru,
                        false);
    };
    const double rho = paper::bisect(hits, 0.01, 0.999, printed.lru);
    fitted.rho[static_cast<size_t>(printed.model)] = rho;
    fitted.residuals.push_back(
        {std::string("rho, ") + size.name, std::string(printed.id) + ", LRU", rho, printed.lru, hits(rho)});
  }
}

}  // namespace

// The processor's time is fitted on text, in which nothing is moved, and the link's on prompts, in which the processor
// computes nothing.
Calibration calibrate() {
  Calibration fitted;
  Lab lab;
  const auto kt_ms_with = [&](double Machine::*constant, double value, bool text) {
    Machine machine = fitted.machine;
    machine.*constant = value;
    return kt_ms(lab, machine, text);
  };
  fitted.machine.cpu_expert_ms =
      paper::bisect([&](double ms) { return kt_ms_with(&Machine::cpu_expert_ms, ms, true); }, 0.1, 10, 1e3 * kKtToken);
  fitted.machine.link_bytes_per_second =
      paper::bisect([&](double rate) { return kt_ms_with(&Machine::link_bytes_per_second, rate, false); }, 3e9, 30e9,
                    1e3 * kKtPrompt);
  fitted.residuals = {
      {"cpu_expert_ms", "YF7", fitted.machine.cpu_expert_ms, kKtToken, 1e-3 * kt_ms(lab, fitted.machine, true)},
      {"link_bytes_per_second", "YF3", fitted.machine.link_bytes_per_second, kKtPrompt,
       1e-3 * kt_ms(lab, fitted.machine, false)}};
  fit_routing(fitted);
  return fitted;
}

}  // namespace tandem::paper_hybrimoe
