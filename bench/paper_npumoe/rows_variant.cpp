// NF50 to NF59: ablation, overlap of popular experts, the GPU, and Qwen3.
#include "bench/paper_npumoe/row.h"

namespace tandem::paper_npumoe {
namespace {

// The gain of one variant over another at Table 4's setting.
double ratio(Lab& lab, ExpertEngine slower, ExpertEngine faster, What what) {
  return value_of(lab.prefill(kTable4, slower), what) / value_of(lab.prefill(kTable4, faster), what);
}

// A step of the ablation. The paper does not print its setting.
Row ablation(const char* id, const char* name, ExpertEngine slower, ExpertEngine faster, What what, double printed) {
  return {id,
          name,
          "x",
          printed,
          printed,
          Use::held_out,
          Kind::ratio,
          [=](Lab& lab) { return ratio(lab, slower, faster, what); },
          "setting not printed: P 1024, C 256"};
}

// Graph calls follow from the rules of grouping and depend on no fitted constant.
Row calls(ExpertEngine engine) {
  return {"NF52",
          "graph calls of a layer and chunk, " + std::string(name_of(engine)),
          "calls",
          16,
          16,
          Use::held_out,
          Kind::exact,
          [engine](Lab& lab) {
            const int64_t chunks = kTable4.prompt / kTable4.chunk;
            return static_cast<double>(lab.prefill(kTable4, engine).launches) /
                   static_cast<double>(lab.routing(kPhi).shape.layers * chunks);
          },
          ""};
}

// A row of Qwen3, whose P and C are not printed.
Row qwen(const char* id, const std::string& what, double printed, Use use, double (*modelled)(Lab&, const Setting&),
         const char* note) {
  return {id,          "Qwen3, " + what,
          "x",         printed,
          printed,     use,
          Kind::ratio, [modelled](Lab& lab) { return modelled(lab, {kQwen, 1024, 256}); },
          note};
}

// Four gains of Qwen3, as plain functions that rows can point to.
double expert_gain(Lab& lab, const Setting& setting) {
  return lab.prefill(setting, ExpertEngine::cpu).expert_seconds /
         lab.prefill(setting, ExpertEngine::ours).expert_seconds;
}
double cpu_gain(Lab& lab, const Setting& setting) { return gain(lab, setting, ExpertEngine::cpu, What::latency); }
double anemll_gain(Lab& lab, const Setting& setting) { return gain(lab, setting, ExpertEngine::anemll, What::latency); }
double cpu_energy(Lab& lab, const Setting& setting) { return gain(lab, setting, ExpertEngine::cpu, What::energy); }
double anemll_energy(Lab& lab, const Setting& setting) {
  return gain(lab, setting, ExpertEngine::anemll, What::energy);
}

}  // namespace

// The ablation's steps, overlaps of popular experts, and the GPU's and Qwen3's numbers with the powers they fix.
void add_variant_rows(std::vector<Row>& rows) {
  const ExpertEngine ours = ExpertEngine::ours, base = ExpertEngine::base, T = ExpertEngine::tiers,
                     TG = ExpertEngine::tier_groups;
  rows.push_back(ablation("NF50", "latency, base over all", base, ours, What::latency, 2.89));
  rows.push_back(ablation("NF50", "latency, + TG over all", TG, ours, What::latency, 1.09));
  rows.push_back(Row::not_predicted("NF51", "energy of + TG", "", 998.4, 998.4, "printed without a unit"));
  rows.push_back(ablation("NF51", "energy, base over + TG", base, TG, What::energy, 3.74));
  rows.push_back(ablation("NF51", "energy, + T over + TG", T, TG, What::energy, 1.31));
  rows.push_back(calls(base));
  rows.push_back(calls(T));
  rows.push_back({"NF53", "Overlap@4 of unseen inputs, PhiMoE", "", 0.86, 0.86, Use::calibration, Kind::absolute,
                  [](Lab& lab) { return overlap_of(lab, 4); }, "fixes the routing's sigmas together with NF31"});
  rows.push_back({"NF53", "Overlap@8 of unseen inputs, PhiMoE", "", 0.94, 0.94, Use::held_out, Kind::absolute,
                  [](Lab& lab) { return overlap_of(lab, 8); }, ""});
  rows.push_back(Row::not_predicted("NF54", "overlap of BoolQ and HellaSwag", "", 0.652, 0.77,
                                    "K is not printed; how far two data sets differ is nothing that a model knows"));
  rows.push_back(
      Row::not_predicted("NF55", "GPU and NPU, attention and block", "x", 1.26, 9.41, "arithmetic on NF56 and NF57"));
  rows.push_back({"NF56", "power of the NPU in attention", "W", 7.1, 7.1, Use::input, Kind::absolute,
                  [](Lab& lab) { return lab.chip().attention_watts; }, "taken as it is"});
  rows.push_back(Row::not_predicted("NF57", "attention and experts, GPU and ours", "s", 0.99, 1.26,
                                    "the number of tokens is not printed"));
  const char* assumed = "P and C are not printed: 1024 and 256";
  rows.push_back(qwen("NF58", "latency, CPU over ours", 1.99, Use::held_out, cpu_gain, assumed));
  rows.push_back(qwen("NF58", "latency, anemll over ours", 2.00, Use::held_out, anemll_gain, assumed));
  rows.push_back(
      qwen("NF58", "experts alone, CPU over ours", 0.978 / 0.464, Use::derived, expert_gain, "0.978 over 0.464 s"));
  rows.push_back(Row::not_predicted("NF58", "Qwen3, seconds of a run", "s", 0.572, 1.144, "P and C are not printed"));
  rows.push_back({"NF59", "power of the CPU, CPU only", "W", 9.66 / 1.139, 9.66 / 1.139, Use::calibration,
                  Kind::absolute, [](Lab& lab) { return lab.chip().cpu_watts; }, "fixes it: 9.66 J in 1.139 s"});
  rows.push_back({"NF59", "power of communication, CPU only", "W", 3.01 / 1.139, 3.01 / 1.139, Use::calibration,
                  Kind::absolute, [](Lab& lab) { return lab.chip().communication_watts; },
                  "fixes it together with ours: 3.01 J in 1.139 s"});
  rows.push_back({"NF59", "power of communication, ours", "W", 1.37 / 0.572, 1.37 / 0.572, Use::calibration,
                  Kind::absolute, [](Lab& lab) { return lab.chip().communication_watts; },
                  "fixes it together with the CPU's: 1.37 J in 0.572 s"});
  rows.push_back(
      qwen("NF59", "energy, CPU over ours", 3.33, Use::shared, cpu_energy, "both totals have a part in calibration"));
  rows.push_back(qwen("NF59", "energy, anemll over ours", 3.19, Use::held_out, anemll_energy, assumed));
}

}  // namespace tandem::paper_npumoe
