// The sd.npu paper's settings on the model clock: phone, task and engine, and the time of an output token.
//
// Contract: everything is modelled. Models are shapes (engine/model/shapes.h), phones are processor profiles with the
//   section `passes`. Tokens of a pass are Table 4's, as printed. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "bench/paper_sdnpu/formulas.h"
#include "bench/paper_sdnpu/printed.h"
#include "engine/plan/model_clock/soc_profile.h"

namespace tandem::paper_sdnpu {

enum class Phone : uint8_t { redmi_k60, redmi_k70, oneplus_13 };
inline constexpr std::array kPhones{Phone::redmi_k60, Phone::redmi_k70, Phone::oneplus_13};
// Name of the built-in profile.
const char* profile_name(Phone phone);
// The phone of that name; any other profile stands for the phone of Table 3.
Phone phone_of(const SocProfile& profile);

enum class Runner : uint8_t { npu, cpu, npu_sam, cpu_sam, npu_eagle, cpu_eagle, ours };
bool decodes_on_cpu(Runner runner);

// What the paper does not print.
inline constexpr double kDecodeShare = 0.70;         // SF43's middle
inline constexpr int64_t kPromptTokens = 1536;       // "1-2K tokens": six chunks of 256
inline constexpr double kVerifiedPerAccepted = 1.2;  // tokens of a pass of SAM on the CPU, over those that it keeps
// S7: EAGLE makes six drafts a pass; SF26: 5.5 tokens come of it.
inline constexpr int64_t kEagleSteps = 6;
inline constexpr double kEagleTokens = 5.5;

// S1 of one prompt, in seconds.
struct SwitchEnds {
  double prefill = 0, load = 0;
  double synchronous = 0, asynchronous = 0, progressive = 0;
  double best() const;  // P6
};

class Lab {
 public:
  // `profile` takes the place of one phone. The others are built in. Error: it says nothing of passes or of loading.
  explicit Lab(SocProfile profile);

  const SocProfile& profile(Phone phone) const { return phones_[static_cast<size_t>(phone)]; }
  const ChipPasses& chip(Phone phone) const { return profile(phone).passes; }
  const PassSize& size(const char* model);
  // pass(L) of the model. Models other than the 1.5 B have their printed times of Table 3 in place of the chip's
  // shared part, and are known on that phone alone.
  PassLine line(Phone phone, const char* model);
  const AblationParts& parts(const char* model) const { return parts_.at(model); }
  // Tokens of a pass with SAM on summaries that + SD of Table 3 asks for, if drafts fill the decode graph.
  double fitted_sam_tokens(const char* model);

  // A model of Table 3 on its phone, summary: Runner::npu, npu_sam, npu_eagle or ours. The 1.5 B has the printed tokens
  // of a pass. The others have the fitted ones, and the gain of the 1.5 B over SAM.
  TokenTime table3_time(const char* model, Runner runner);

  SwitchEnds switch_ends(Phone phone);
  // Of a request for a summary: the prompt's time over the printed time of an output token, on the phone of Table 3.
  double output_tokens();
  // Everything from here on is the 1.5 B.
  TokenTime time(Phone phone, Task task, Runner runner);
  double joules(Phone phone, Task task, Runner runner);  // of a request

 private:
  struct Prefill {
    double alone = 0, synchronous = 0, switched = 0;  // ms of an output token
  };
  Prefill prefill(Phone phone);
  double decode(Phone phone, Task task, Runner runner);

  std::array<SocProfile, kPhones.size()> phones_;
  std::map<std::string, PassSize, std::less<>> sizes_;
  std::map<std::string, AblationParts, std::less<>> parts_;
};

}  // namespace tandem::paper_sdnpu
