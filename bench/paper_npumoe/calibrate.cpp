#include "bench/paper_npumoe/calibrate.h"

#include <cmath>
#include <limits>

#include "bench/paper_npumoe/quantities.h"
#include "engine/model/shapes.h"

namespace tandem::paper_npumoe {
namespace {

// Table 5 prints values per slot; there are 16 * C slots.
constexpr double kSlots32 = 16 * 32, kSlots64 = 16 * 64, kSlots128 = 16 * 128, kSlots256 = 16 * 256;

// Solves for the constants in an order in which each step needs only those before it.
class Calibrator {
 public:
  Calibrator(const SocProfile& start, Traffic& traffic) : profile_(start), traffic_(traffic) {}

  Calibration run() {
    fit_groups();
    fit_queues();
    fit_group_energy();
    fit_cpu();
    fit_attention();
    fit_naive();
    fit_watts();
    fit_host();
    return {profile_, residuals_};
  }

 private:
  // Constants are kept with four digits and say which number they come from.
  void set(const std::string& key, double value, const std::string& from) {
    set_number(profile_, "experts." + key, paper::rounded(value, 4), "calibrated: NPUMoE, " + from);
  }
  // A quantity of the model with the constants found so far.
  double modelled(double (*quantity)(Lab&)) const {
    Lab lab(profile_, traffic_);
    return quantity(lab);
  }
  double table5(const GroupRow& row, double (*quantity)(const Lab&, const GroupRow&)) const {
    const Lab lab(profile_, traffic_);
    return quantity(lab, row);
  }
  // Keeps the residual: the printed number beside the modelled one.
  void keep(const std::string& key, const std::string& from, double printed, double modelled) {
    residuals_.push_back({"experts." + key, from, number_of(profile_, "experts." + key), printed, modelled});
  }

  // 1 x 32, 8 x 32 and 8 x 128 in turn have 16, 2 and 2 launches and 512, 512 and 2048 rows. These are three equations.
  void fit_groups() {
    // One launch and the rows of one graph follow from differences; the weights are what remains.
    const double one = 0.31e-3 * kSlots32, eight = 0.26e-3 * kSlots32, large = 0.14e-3 * kSlots128;
    const double launch = (one - eight) / 14, row = (large - eight) / (kSlots128 - kSlots32);
    const double weights = eight - 2 * launch - kSlots32 * row;
    const char* from = "NF44, NF46, NF47 (Table 5): 1 x 32, 8 x 32 and 8 x 128 in turn, 0.31, 0.26 and 0.14 ms a slot";
    set("launch_seconds", launch, from);
    set("weight_bytes_per_second", 16 * static_cast<double>(phi_.expert.weight_bytes()) / weights, from);
    set("flops", phi_.expert.row_flops() / row, from);
    keep("launch_seconds", "NF44: 1 x 32 in turn", 0.31, table5({1, 32}, ms_per_slot));
    keep("weight_bytes_per_second", "NF46: 8 x 32 in turn", 0.26, table5({8, 32}, ms_per_slot));
    keep("flops", "NF47: 8 x 128 in turn", 0.14, table5({8, 128}, ms_per_slot));
    const double beyond = 0.16e-3 * kSlots256 - (2 * launch + weights + kSlots256 * row);
    set("beyond_rate_share", beyond / (row * kSlots128), "NF47 (Table 5): 8 x 256 in turn, 0.16 ms a slot");
    keep("beyond_rate_share", "NF47: 8 x 256 in turn", 0.16, table5({8, 256}, ms_per_slot));
  }

  // Two graphs fix the gain of a second queue, and sixteen graphs fix the number of queues.
  void fit_queues() {
    const double gain = table5({8, 64}, ms_per_slot) / 0.11;
    set("queue_gain", gain - 1, "NF46 (Table 5): 8 x 64 together, 0.11 ms a slot");
    double least = std::numeric_limits<double>::infinity();
    int64_t best = 2;
    for (int64_t queues = 2; queues <= 16; ++queues) {
      profile_.experts.queues = queues;
      const double error = std::abs(table5({1, 32, GraphOrder::together}, ms_per_slot) / 0.13 - 1);
      if (error < least) least = error, best = queues;
    }
    set("queues", static_cast<double>(best), "NF44 (Table 5): 1 x 32 together, 0.13 ms a slot");
    keep("queue_gain", "NF46: 8 x 64 together", 0.11, table5({8, 64, GraphOrder::together}, ms_per_slot));
    keep("queues", "NF44: 1 x 32 together", 0.13, table5({1, 32, GraphOrder::together}, ms_per_slot));
  }

  // Solves the same three equations in joules. Then the time that 8 x 64 saves together gives the static watts.
  void fit_group_energy() {
    const double one = 1.43e-3 * kSlots32, eight = 1.16e-3 * kSlots32, large = 0.96e-3 * kSlots128;
    const double launch = (one - eight) / 14, row = (large - eight) / (kSlots128 - kSlots32);
    const double weights = eight - 2 * launch - kSlots32 * row;
    const char* from = "NF44, NF46, NF47 (Table 5): 1 x 32, 8 x 32 and 8 x 128 in turn, 1.43, 1.16 and 0.96 mJ a slot";
    set("launch_joules", launch, from);
    set("weight_byte_joules", weights / (16 * static_cast<double>(phi_.expert.weight_bytes())), from);
    set("flop_joules", row / phi_.expert.row_flops(), from);
    keep("launch_joules", "NF44: 1 x 32 in turn", 1.43, table5({1, 32}, mj_per_slot));
    keep("weight_byte_joules", "NF46: 8 x 32 in turn", 1.16, table5({8, 32}, mj_per_slot));
    keep("flop_joules", "NF47: 8 x 128 in turn", 0.96, table5({8, 128}, mj_per_slot));
    const double saved_ms = table5({8, 64}, ms_per_slot) - table5({8, 64, GraphOrder::together}, ms_per_slot);
    set("static_watts", (table5({8, 64}, mj_per_slot) - 0.79) / saved_ms,
        "NF46 (Table 5): 8 x 64 together, 0.79 mJ a slot");
    keep("static_watts", "NF46: 8 x 64 together", 0.79, table5({8, 64, GraphOrder::together}, mj_per_slot));
  }

  // The CPU's rate is what remains of its printed time behind reading the weights.
  void fit_cpu() {
    const auto ffn = [](Lab& lab) { return ffn_ms_of_a_layer(lab, ExpertEngine::cpu); };
    // The CPU's time is the weights of 16 experts in four chunks, and arithmetic on the rows.
    const double weights_ms =
        64e3 * static_cast<double>(phi_.expert.weight_bytes()) / profile_.experts.weight_bytes_per_second;
    const double rows_ms = modelled(ffn) - weights_ms;
    set("cpu_flops", profile_.experts.cpu_flops * rows_ms / (969.53 - weights_ms),
        "NF38 (Table 4): experts on the CPU, 969.53 ms");
    keep("cpu_flops", "NF38: experts on the CPU, ms", 969.53, modelled(ffn));
  }

  // Attention is fixed by the experts' share of a prompt, and on the CPU by the printed ratio of both.
  void fit_attention() {
    const auto seconds = [](Lab& lab) {  // seconds of a layer's attention if experts have 86 %
      return lab.prefill(kTable4, ExpertEngine::ours).expert_seconds /
             static_cast<double>(lab.routing(kPhi).shape.layers) * 0.14 / 0.86;
    };
    const double flops = phi_.attention_flops(kTable4.prompt) / modelled(seconds);
    set("attention_flops", flops, "NF15 (section 5.3): experts have 86 % of ours, P 1024, C 256");
    set("cpu_attention_flops", flops * 1.276, "NF16 (section 5.3): attention takes 27.6 % longer on the NPU");
    keep("attention_flops", "NF15: experts' share of ours", 0.86, modelled(expert_share));
    keep("cpu_attention_flops", "NF16: attention on the NPU over the CPU", 1.276,
         profile_.experts.cpu_attention_flops / profile_.experts.attention_flops);
  }

  // The naive engine launches sixteen times for each of four chunks.
  void fit_naive() {
    const auto ffn = [](Lab& lab) { return ffn_ms_of_a_layer(lab, ExpertEngine::naive); };
    const double rest_ms = 3369.86 - (modelled(ffn) - 64e3 * profile_.experts.naive_sync_seconds);
    set("naive_sync_seconds", rest_ms * 1e-3 / 64, "NF39 (Table 4): experts of the naive engine, 3369.86 ms");
    keep("naive_sync_seconds", "NF39: experts of the naive engine, ms", 3369.86, modelled(ffn));
  }

  // Watts are printed joules over printed seconds. Communication has two such values, whose geometric mean counts.
  void fit_watts() {
    set("cpu_watts", 9.66 / 1.139, "NF58, NF59 (Tables 6 and 7): CPU only, 9.66 J in 1.139 s");
    const double cpu = 3.01 / 1.139, ours = 1.37 / 0.572;
    set("communication_watts", std::sqrt(cpu * ours),
        "NF58, NF59 (Tables 6 and 7): 3.01 J in 1.139 s and 1.37 J in 0.572 s");
    keep("cpu_watts", "NF59: power of the CPU, CPU only", cpu_watts_, profile_.experts.cpu_watts);
    keep("communication_watts", "NF59: power of communication, CPU only", cpu, profile_.experts.communication_watts);
    keep("communication_watts", "NF59: power of communication, ours", ours, profile_.experts.communication_watts);
  }

  // The host's share of a core is found by bisection, because cycles depend on it through all engines.
  void fit_host() {
    const auto cycles = [](Lab& lab) { return gain(lab, kTable4, ExpertEngine::cpu, What::cpu_time); };
    const auto tried = [&](double share) {
      profile_.experts.host_core_share = share;
      return modelled(cycles);
    };
    set("host_core_share", paper::bisect(tried, 1e-3, 1, 3.78),
        "NF26 (section 5.5): CPU cycles over the CPU engine, 3.78");
    keep("host_core_share", "NF26: CPU cycles, CPU over ours", 3.78, modelled(cycles));
  }

  static constexpr double cpu_watts_ = 9.66 / 1.139;
  const MixtureShape phi_ = mixture_shape(model_shape(kPhi));
  SocProfile profile_;
  Traffic& traffic_;
  std::vector<paper::Residual> residuals_;
};

}  // namespace

Calibration calibrate(const SocProfile& start, Traffic& traffic) { return Calibrator(start, traffic).run(); }

// The drawn routing has two constants for two numbers: what a plan drops, and how well chunks predict each other.
RoutingModel calibrated_routing(const ChipExperts& chip) {
  RoutingModel best;
  double least = std::numeric_limits<double>::infinity();
  for (int popularity = 6; popularity <= 14; ++popularity) {
    for (int chunk = 1; chunk <= 8; ++chunk) {
      RoutingModel tried;
      tried.popularity_sigma = popularity * 0.1;
      tried.chunk_sigma = chunk * 0.05;
      const Routing routing = drawn_routing(kPhi, tried);
      const int64_t bytes = routing.shape.expert.weight_bytes();
      const double dropped = room_use(routing.planned, routing.unseen, bytes, paper_rules(chip)).dropped;
      const double error =
          std::pow(dropped / 0.1466 - 1, 2) + std::pow(overlap_on(routing.planned, routing.unseen, 4) / 0.86 - 1, 2);
      if (error < least) least = error, best = tried;
    }
  }
  return best;
}

}  // namespace tandem::paper_npumoe
