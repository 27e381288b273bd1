#include "engine/run/machine/first_text.h"

#include <algorithm>
#include <cstdio>

namespace tandem {
namespace {

// Round figures after a model of a billion parameters, measured on 2026-11-26. 16 cores of a Xeon read 33 GB/s of its
// weights. The 132 units of an H100 read 154 GB/s, and prompts at 12 TFLOP/s. Kernels of one text took 1.0 s (Vulkan)
// and 1.2 s (OpenCL) to compile.
constexpr double kHostBytes = 11e9, kHostFlops = 40e9;  // per second and core
constexpr int kCoresThatRead = 3;                       // more cores do not read faster
constexpr double kCardBytes = 1e9, kCardFlops = 50e9;   // per second and unit
constexpr double kCompileSeconds = 1.2;

}  // namespace

// Written tokens are bound by reading the weights, and the prompt by multiplying. Both processors are predicted so.
FirstText predict_first_text(const TextAsked& asked, double weight_bytes, double parameters, int host_cores,
                             int compute_units, double compile_seconds) {
  const auto tokens = static_cast<double>(std::max<int64_t>(0, asked.tokens));
  const double prompt_flops = 2 * parameters * static_cast<double>(std::max<int64_t>(0, asked.prompt_tokens));
  const int cores = std::max(1, host_cores), units = std::max(1, compute_units);
  FirstText text;
  text.endless = asked.tokens < 0;
  text.host_seconds =
      tokens * weight_bytes / (kHostBytes * std::min(cores, kCoresThatRead)) + prompt_flops / (kHostFlops * cores);
  text.card_seconds = tokens * weight_bytes / (kCardBytes * units) + prompt_flops / (kCardFlops * units);
  text.compile_seconds = compile_seconds > 0 ? compile_seconds : kCompileSeconds;
  return text;
}

std::string describe(const FirstText& text, const std::string& card) {
  char times[160];
  std::snprintf(times, sizeof times, "%.1f s to compile, then %.1f s for the text; without it %.1f s (predicted)",
                text.compile_seconds, text.card_seconds, text.host_seconds);
  if (text.endless) return "the text waits until the kernels of " + card + " are compiled, and they are kept";
  if (text.waits()) return "the text waits until the kernels of " + card + " are compiled, and they are kept: " + times;
  return "this text begins without " + card + ", which joins when its kernels are compiled: " + times;
}

}  // namespace tandem
