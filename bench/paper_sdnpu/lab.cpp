#include "bench/paper_sdnpu/lab.h"

#include <algorithm>
#include <utility>

#include "engine/model/shapes.h"
#include "engine/plan/graph_switch.h"
#include "sync/error.h"

namespace tandem::paper_sdnpu {
namespace {

// A profile without these sections models no drafts.
void require_passes(const SocProfile& profile) {
  if (profile.has_passes() && profile.npu.load_bytes_per_second > 0) return;
  throw Error("this processor profile says nothing of passes with drafts, or of loading graphs", profile.name,
              "Name one that does: redmi-k60-pro, redmi-k70-pro, oneplus-13 (docs/model_clock.md, the section `passes` "
              "and npu.load_bytes_per_second)");
}

double milliseconds(double seconds) { return 1e3 * seconds; }

}  // namespace

const char* profile_name(Phone phone) {
  switch (phone) {
    case Phone::redmi_k60:
      return "redmi-k60-pro";
    case Phone::redmi_k70:
      return "redmi-k70-pro";
    case Phone::oneplus_13:
      break;
  }
  return "oneplus-13";
}

Phone phone_of(const SocProfile& profile) {
  const auto found = std::ranges::find(kPhones, profile.name, profile_name);
  return found == kPhones.end() ? Phone::redmi_k60 : *found;
}

// The runners with `cpu` in their names prefill on the NPU and decode on the CPU.
bool decodes_on_cpu(Runner runner) {
  return runner == Runner::cpu || runner == Runner::cpu_sam || runner == Runner::cpu_eagle;
}

double SwitchEnds::best() const { return std::min({progressive, synchronous, asynchronous}); }

// The given profile takes the place of its phone, and the other phones are built in.
Lab::Lab(SocProfile profile) {
  const Phone given = phone_of(profile);
  for (const Phone phone : kPhones)
    phones_[static_cast<size_t>(phone)] = phone == given ? std::move(profile) : soc_profile(profile_name(phone));
  for (const SocProfile& profile : phones_) require_passes(profile);
  for (const Ablation& row : kTable3) parts_[row.model] = parts_of(row, kDecodeShare);
}

const PassSize& Lab::size(const char* model) {
  const auto found = sizes_.find(model);
  return found != sizes_.end() ? found->second : sizes_[model] = pass_size(model_shape(model));
}

// The 1.5B's line is the chip's. For another model the printed time of its plain pass fixes the shared part.
PassLine Lab::line(Phone phone, const char* model) {
  PassLine line = pass_line(chip(phone), size(model));
  if (std::string_view(model) != kQwen15) line.shared_seconds = 1e-3 * parts(model).decode - line.token_seconds;
  return line;
}

double Lab::fitted_sam_tokens(const char* model) {
  const Phone phone = Phone::redmi_k60;
  return milliseconds(line(phone, model).seconds(chip(phone).decode_tokens)) / parts(model).drafts_decode;
}

// Table 3's rows by printed prefill and modelled passes.
TokenTime Lab::table3_time(const char* model, Runner runner) {
  const Acceptance& printed = acceptance_of(Task::summary);
  const PassLine pass = line(Phone::redmi_k60, model);
  const double verified = milliseconds(pass.seconds(chip(Phone::redmi_k60).decode_tokens));
  const double sam = std::string_view(model) == kQwen15 ? printed.sam[0] : fitted_sam_tokens(model);
  const double before = runner == Runner::ours ? parts(model).switched : parts(model).prefill;
  if (runner == Runner::npu_sam) return {before, verified / sam};
  if (runner == Runner::ours) return {before, verified / (sam * printed.sam_ours[0] / printed.sam[0])};
  const double single = milliseconds(pass.seconds(1));
  if (runner == Runner::npu) return {before, single};
  TANDEM_CHECK(runner == Runner::npu_eagle, "Table 3 decodes on the NPU alone");
  return {before, eagle_ms(milliseconds(pass.seconds(1 + kEagleSteps)), draft_model_share(size(model)) * single,
                           kEagleSteps, kEagleTokens)};
}

// S1: the prompt's chunks and the loads of graphs, by each way of loading.
SwitchEnds Lab::switch_ends(Phone phone) {
  const int64_t chunk = chip(phone).prefill_tokens, chunks = (kPromptTokens + chunk - 1) / chunk;
  const double rate = profile(phone).npu.load_bytes_per_second;
  const PassLine pass = line(phone, kQwen15);
  const GraphSwitchTimes times = graph_switch_times(chip(phone), size(kQwen15), pass, rate, chunks);
  SwitchEnds ends;
  ends.prefill = static_cast<double>(chunks) * pass.seconds(chunk);
  ends.load = graph_load_seconds(size(kQwen15), rate);
  ends.synchronous = 1e-6 * static_cast<double>(synchronous_end(times));
  ends.asynchronous = 1e-6 * static_cast<double>(asynchronous_end(times));
  ends.progressive = 1e-6 * static_cast<double>(progressive_schedule(times).end());
  return ends;
}

// How many tokens a request writes: its prefill's seconds over the prefill's printed share of a token.
double Lab::output_tokens() { return milliseconds(switch_ends(Phone::redmi_k60).prefill) / parts(kQwen15).switched; }

// Table 3 says what a prefill takes on the K60 Pro, and the OnePlus 13 is taken as equal to it. On the K70 Pro nothing
// is printed, so the schedule says it (S1).
Lab::Prefill Lab::prefill(Phone phone) {
  if (phone != Phone::redmi_k70) {
    const AblationParts& printed = parts(kQwen15);
    return {printed.switched, printed.prefill, printed.switched};
  }
  const SwitchEnds ends = switch_ends(phone);
  const double tokens = output_tokens();
  return {milliseconds(ends.prefill) / tokens, milliseconds(ends.synchronous) / tokens,
          milliseconds(ends.best()) / tokens};
}

// Decoding of one output token: the time of a pass over the tokens that it gives.
double Lab::decode(Phone phone, Task task, Runner runner) {
  const ChipPasses& chip = this->chip(phone);
  const PassSize& model = size(kQwen15);
  const PassLine npu = line(phone, kQwen15);
  const auto cpu_ms = [&](double tokens) { return milliseconds(cpu_pass_seconds(chip, model, tokens)); };
  const double sam = acceptance_of(task).sam[0], draft = draft_model_share(model);
  switch (runner) {
    case Runner::npu:
      return milliseconds(npu.seconds(1));
    case Runner::cpu:
      return cpu_ms(1);
    case Runner::npu_sam:
      return milliseconds(npu.seconds(chip.decode_tokens)) / sam;
    case Runner::cpu_sam:
      return cpu_ms(kVerifiedPerAccepted * sam) / sam;
    case Runner::npu_eagle:
      return eagle_ms(milliseconds(npu.seconds(1 + kEagleSteps)), draft * milliseconds(npu.seconds(1)), kEagleSteps,
                      kEagleTokens);
    case Runner::cpu_eagle:
      return eagle_ms(cpu_ms(1 + kEagleSteps), draft * cpu_ms(1), kEagleSteps, kEagleTokens);
    case Runner::ours:
      break;
  }
  return milliseconds(npu.seconds(chip.decode_tokens)) / acceptance_of(task).sam_ours[0];
}

// An engine that decodes on the CPU loads no second graph.
TokenTime Lab::time(Phone phone, Task task, Runner runner) {
  const Prefill before = prefill(phone);
  return {runner == Runner::ours   ? before.switched
          : decodes_on_cpu(runner) ? before.alone
                                   : before.synchronous,
          decode(phone, task, runner)};
}

// Joules of a request. The NPU draws its watts during the prefill, and the processor that decodes draws its
// own after that.
double Lab::joules(Phone phone, Task task, Runner runner) {
  const SocProfile::Power& power = profile(phone).power;
  const TokenTime ms = time(phone, task, runner);
  const double decode_watts = decodes_on_cpu(runner) ? power.cpu_watts : power.npu_watts;
  return 1e-3 * output_tokens() * (ms.prefill * power.npu_watts + ms.decode * decode_watts);
}

}  // namespace tandem::paper_sdnpu
