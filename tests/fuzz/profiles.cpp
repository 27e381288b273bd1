// JSON that describes a processor: a profile for the model clock, or the emulated NPU's parameters. Accepted content
// must stay the same when it is written and read again.
#include <string_view>

#include "engine/plan/model_clock/soc_profile.h"
#include "npu_emu/params.h"
#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

std::string_view text_of(Bytes input) { return {reinterpret_cast<const char*>(input.data()), input.size()}; }

}  // namespace

void soc_profile(Bytes input) {
  std::string written;
  try {
    written = to_json(parse_soc_profile(text_of(input), "fuzzed.json"));
  } catch (const Error&) {
    return;
  }
  must_hold(to_json(parse_soc_profile(written, "written.json")) == written, "a written profile reads the same");
}

void npu_params(Bytes input) {
  std::string written;
  try {
    written = npu_emu::to_json(npu_emu::parse_params(text_of(input), "fuzzed.json"));
  } catch (const Error&) {
    return;
  }
  must_hold(npu_emu::to_json(npu_emu::parse_params(written, "written.json")) == written,
            "written parameters read the same");
}

}  // namespace tandem::fuzz
