#include "bench/paper_sdnpu/calibrate.h"

#include <algorithm>
#include <limits>

namespace tandem::paper_sdnpu {
namespace {

// Solves for one phone's constants in turn. Each step needs only those before it.
class Calibrator {
 public:
  explicit Calibrator(const SocProfile& start) : profile_(start), phone_(phone_of(start)) {}

  Calibration run() {
    if (phone_ == Phone::redmi_k70) {
      fit_slow_phone();
    } else {
      fit_passes();
      fit_load();
      fit_cpu();
      fit_watts();
    }
    return {profile_, residuals_};
  }

 private:
  Lab lab() const { return Lab(profile_); }
  double weights() const { return static_cast<double>(lab().size(kQwen15).weights()); }
  void set(const std::string& key, double value, const std::string& from) {
    set_number(profile_, key, paper::rounded(value, 6), "calibrated: sd.npu, " + from);
  }
  void keep(const std::string& key, const std::string& from, double printed, double modelled) {
    residuals_.push_back({key, from, number_of(profile_, key), printed, modelled});
  }
  // A line of passes is the time of reading all weights and the time of a token's arithmetic.
  void set_line(const PassLine& line, const std::string& from) {
    set("passes.weight_bytes_per_second", weights() / line.shared_seconds, from);
    set("passes.flops", 2 * weights() / line.token_seconds, from);
  }
  double pass_ms(int64_t tokens) const { return 1e3 * lab().line(phone_, kQwen15).seconds(tokens); }

  // The slow phone has two printed times of passes and no printed engine.
  void fit_slow_phone() {
    set_line(line_through(1, 51.1e-3, 32, 32 * 5.7e-3), "SF9 (section 2.3): 51.1 ms at length 1, 5.7 ms a token at 32");
    keep("passes.weight_bytes_per_second", "SF9: a pass of 1, ms", 51.1, pass_ms(1));
    keep("passes.flops", "SF9: a token of a pass of 32, ms", 5.7, pass_ms(32) / 32);
  }

  // Two points of the line: plain decoding, and decoding with SAM, whose passes fill the decode graph.
  void fit_passes() {
    const AblationParts parts = lab().parts(kQwen15);
    const double sam = acceptance_of(Task::summary).sam[0];
    const int64_t graph = profile_.passes.decode_tokens;
    set_line(line_through(1, 1e-3 * parts.decode, graph, 1e-3 * parts.drafts_decode * sam),
             "SF40, SF43, SF63: decode of NPU and of + SD, 1.5B, at 70 % of NPU and 3.60 tokens a pass");
    keep("passes.weight_bytes_per_second", "SF40: decode of NPU, ms", parts.decode, pass_ms(1));
    keep("passes.flops", "SF40: decode of + SD, ms", parts.drafts_decode, pass_ms(graph) / sam);
  }

  // Table 3's step to + G is read as the load that it hides.
  void fit_load() {
    const AblationParts parts = lab().parts(kQwen15);
    const double seconds = 1e-3 * (parts.prefill - parts.switched) * lab().output_tokens();
    set("npu.load_bytes_per_second", weights() / seconds,
        "SF40: + G takes 9.69 ms a token from NPU, 1.5B; read as the load of the second graph");
    const double load_ms = 1e3 * lab().switch_ends(phone_).load / lab().output_tokens();
    keep("npu.load_bytes_per_second", "SF40: NPU less + G, ms", 9.69, load_ms);
  }

  // The CPU's token follows from decoding's printed share of a run.
  void fit_cpu() {
    const double token_ms = part_with_share(lab().parts(kQwen15).switched, 0.735);
    set("passes.cpu_flops", 2 * weights() / (1e-3 * token_ms),
        "SF1: decoding is 73.5 % of a run, read as decoding on the CPU, 1.5B, summary");
    const TokenTime time = lab().time(phone_, Task::summary, Runner::cpu);
    keep("passes.cpu_flops", "SF1: decode share, CPU vanilla, %", 73.5, 100 * time.decode / time.total());
  }

  // SF31 prints the least gain over all tasks.
  double least_energy_gain() const {
    Lab lab(profile_);
    double least = std::numeric_limits<double>::infinity();
    for (const Task task : kTasks)
      least = std::min(least, lab.joules(phone_, task, Runner::cpu) / lab.joules(phone_, task, Runner::ours));
    return least;
  }

  // The watts of the NPU, and then those of the CPU, in which the smallest gain over it is linear.
  void fit_watts() {
    const double joules = phone_ == Phone::oneplus_13 ? 56.52 : 53.85;
    const auto request = [&] { return lab().joules(phone_, Task::summary, Runner::npu); };
    set("power.npu_watts", 1, "SF35");
    set("power.npu_watts", joules / request(), "SF35: joules of a request, 1.5B; read as NPU vanilla, summary");
    keep("power.npu_watts", "SF35: joules of a request", joules, request());
    const auto tried = [&](double watts) {
      profile_.power.cpu_watts = watts;
      return least_energy_gain();
    };
    set("power.cpu_watts", paper::bisect(tried, 1e-2, 1e2, 1.11), "SF31: energy over CPU vanilla, least, 1.11");
    keep("power.cpu_watts", "SF31: energy over CPU vanilla, least", 1.11, least_energy_gain());
  }

  SocProfile profile_;
  const Phone phone_;
  std::vector<paper::Residual> residuals_;
};

}  // namespace

Calibration calibrate(const SocProfile& start) { return Calibrator(start).run(); }

}  // namespace tandem::paper_sdnpu
