// `tandem make-moe`: a mixture of experts made of a dense model's file (docs/npumoe.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/app/commands/commands.h"
#include "engine/app/common_flags.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/device/registry.h"
#include "engine/model/expert_keys.h"
#include "engine/model/loading.h"
#include "engine/model/moe_conversion.h"
#include "engine/model/tokenizer.h"
#include "engine/moe/made_router.h"
#include "engine/run/engine.h"
#include "engine/run/pass/core_layout.h"
#include "engine/run/pass/ffn_inputs.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/long_wait.h"
#include "sync/output_file.h"

namespace tandem::app {
namespace {

// Defaults of the flags, which the help shows.
struct MakeMoeFlags {
  int64_t experts = 0, used = 2;   // E, k
  std::string kind = "split";      // or "cloned"
  std::string router = "kmeans";   // or "even"
  std::vector<std::string> texts;  // -f: texts that kmeans reads; empty: a built-in one
  Seed seed{1};                    // of kmeans
  std::string output;              // path
};

// Text of several kinds, so that its vectors have several directions.
constexpr const char* kSampleText =
    R"(The river rises in the hills and runs for two hundred miles to the sea. In spring the snow melts, the water is high, and boats can go as far as the old bridge.

"Where have you been?" she asked. "I looked for you everywhere."
"At the market," he said, and laughed. "I bought bread, six eggs and a very small dog."

for (int i = 0; i < 10; ++i) {
  total += values[i] * weights[i];
  if (total > limit) return -1;
}

1. Wash the rice until the water stays clear. 2. Add twice as much water as rice. 3. Boil it for 12 minutes, then let it rest.

In 1905 Albert Einstein published four papers. One of them says that the energy of a body at rest is its mass times the square of the speed of light, E = mc^2. If a train travels 60 kilometres in 45 minutes, its speed is 60 / 0.75 = 80 kilometres an hour.

Question: Which planet is the largest? Answer: Jupiter is the largest planet of the solar system; its diameter is about 142,984 km.

Le chat dort sur la table. Der Hund schläft unter dem Tisch. El pájaro canta en el jardín.

The court held that the contract was not valid, because neither party had signed it before the date on which it was to begin. The appeal was dismissed with costs.
)";

constexpr int64_t kWindow = 256;     // tokens
constexpr size_t kMostWindows = 16;  // 4,096 tokens: enough for groups, and only seconds on a small model

// What the k-means of routers reads: ids, and where they come from.
struct CalibrationText {
  std::vector<Window> windows;
  size_t tokens = 0;
};

// Takes at most kMostWindows windows, evenly spread over a long text.
CalibrationText text_to_read(const GgufFile& file, const ModelConfig& config, const MakeMoeFlags& own) {
  const auto tokenizer = make_tokenizer(file);
  const int64_t length = config.context_length > 1 ? std::min(kWindow, config.context_length) : kWindow;
  std::vector<Window> all;
  const auto add = [&](const std::string& content) {
    std::ranges::move(windows_of_text(*tokenizer, content, length), std::back_inserter(all));
  };
  for (const std::string& path : own.texts) add(read_file(path));
  if (own.texts.empty()) add(kSampleText);
  CalibrationText text;
  const size_t count = std::min(all.size(), kMostWindows);
  for (size_t i = 0; i < count; ++i) {
    text.windows.push_back(std::move(all[i * all.size() / count]));
    text.tokens += text.windows.back().size();
  }
  // Each expert's row is the centre of a group of tokens, so there are at least as many tokens as experts.
  if (static_cast<int64_t>(text.tokens) < own.experts) {
    throw Error("the text is too short: " + std::to_string(text.tokens) + " tokens for " + std::to_string(own.experts) +
                    " experts",
                own.texts.empty() ? "the built-in text" : own.texts.front(), "Give a longer text with -f");
  }
  return text;
}

bool shows_progress(const CommonFlags& flags) { return !flags.quiet() && Progress::stderr_is_terminal(); }

// The dense model is loaded with all cores and thrown away when its routers are made.
Model load(const CommonFlags& flags, const GgufFile& file, sync::Pool& pool) {
  Progress progress("loading", ProgressUnit::bytes, shows_progress(flags));
  return load_model(file, pool, static_cast<int>(usable_cores().size()),
                    [&](uint64_t done, uint64_t total) { progress.update(done, total); });
}

// Runs the dense model on the host over the text, and makes each layer's router from the inputs of its
// feed-forward network. Tokens whose inputs have similar directions then go to the same experts
// (engine/moe/made_router.h). All windows pass a layer before the next layer begins, so each router is made as soon as
// its inputs are complete.
void make_routers(const CommonFlags& flags, const MakeMoeFlags& own, const GgufFile& file, const CalibrationText& text,
                  MoeConversion& conversion) {
  sync::Pool pool;
  const Model model = load(flags, file, pool);
  const CoreLayout layout = lay_out_cores(usable_cores());
  DeviceOptions options;
  options.gpu_cores = layout.gpu;
  options.npu_cores = layout.npu;
  if (!layout.may_spin) options.sync_policy = sync::Policy::blocking;
  const auto device = open_device("host", options);
  Progress progress("reading", ProgressUnit::tokens, shows_progress(flags));
  const auto layers = static_cast<uint64_t>(model.config.layers);
  FfnInputsSinks sinks;
  sinks.take = [&](int64_t layer, std::span<const float> inputs) {
    conversion.set_router(layer, router_of(inputs, model.config.hidden, own.experts, own.seed.value));
  };
  sinks.progress = [&](uint64_t done, uint64_t total) {
    if (interrupted()) throw Interrupted();
    // The reading counts every token once in each layer, and the bar shows tokens.
    progress.update(done / layers, total / layers);
  };
  read_ffn_inputs(model, *device, pool, text.windows, sinks);
}

// Writes the file in pieces. It is committed only if the source has not changed meanwhile. Most bytes are copied from
// the source, whose file is mapped.
void write(const CommonFlags& flags, const GgufFile& model, const MoeConversion& conversion, const std::string& path) {
  Progress progress("writing", ProgressUnit::bytes, shows_progress(flags));
  OutputFile file(path, while_unread(path));
  uint64_t written = 0;
  conversion.write([&](std::span<const std::byte> bytes) {
    if (interrupted()) throw Interrupted();
    file.write(bytes);
    progress.update(written += bytes.size(), conversion.file_bytes());
  });
  model.require_unchanged();
  file.commit();
}

// Rounding is named, because such a file differs from the dense model in more than its form.
void print_summary(const MakeMoeFlags& own, const MoeConversion& conversion, size_t tokens) {
  const std::string router = tokens > 0 ? "routers of " + std::to_string(tokens) + " tokens" : "even routers";
  std::printf("%s: %s, %lld %s experts of width %lld, of which a token goes to %lld; %s; %sB\n", own.output.c_str(),
              conversion.architecture().c_str(), static_cast<long long>(own.experts), own.kind.c_str(),
              static_cast<long long>(conversion.width()), static_cast<long long>(own.used), router.c_str(),
              in_thousands(static_cast<double>(conversion.file_bytes()), "G").c_str());
  if (own.seed.is_drawn) std::printf("%s\n", describe_drawn(own.seed).c_str());
  if (conversion.rounds()) {
    std::printf("ffn_down times %lld is rounded, because that is no power of two\n", static_cast<long long>(own.used));
  }
}

// Reads the text and makes the routers if they are wanted, then writes the file. Numbers that do not fit the model are
// an Error of the conversion, before any text is read. With even routers all scores are equal, and a token uses the
// first experts.
int make_moe_command(const CommonFlags& flags, const MakeMoeFlags& own) {
  apply_verbosity(flags);
  const GgufFile file = GgufFile::open(flags.model);
  MoeConversion conversion(file, {own.experts, own.used, own.kind == "split" ? ExpertKind::split : ExpertKind::cloned});
  CalibrationText text;
  try {
    if (own.router == "kmeans") {
      text = text_to_read(file, conversion.dense(), own);
      make_routers(flags, own, file, text, conversion);
    }
    write(flags, file, conversion, own.output);
  } catch (const Error&) {
    file.require_unchanged();  // the better reason: writing fails too when the source's bytes are gone
    throw;
  }
  if (flags.json) {
    print_json({{"file", own.output},
                {"architecture", conversion.architecture()},
                {"experts", own.experts},
                {"experts_used", own.used},
                {"kind", own.kind},
                {"expert_width", conversion.width()},
                {"router", own.router},
                {"tokens", text.tokens},
                {"seed", own.seed.value},
                {"bytes", conversion.file_bytes()},
                {"rounded", conversion.rounds()}});
  } else {
    print_summary(own, conversion, text.tokens);
  }
  return kDone;
}

}  // namespace

// A text is only read to make routers, so naming one with even routers is refused as a mistake.
void add_make_moe(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<MakeMoeFlags>>();
  MakeMoeFlags& own = flags->own;
  add_model_flag(app, flags->common);
  app.add_option("--experts", own.experts, "experts of each layer")->transform(whole({2, kMostExperts}))->required();
  app.add_option("--used", own.used, "experts that a token goes to")
      ->transform(whole({1, kMostExpertsUsed}))
      ->capture_default_str();
  app.add_option("--kind", own.kind, "split: each has a part of the network; cloned: each has all of it")
      ->check(CLI::IsMember({"split", "cloned"}))
      ->capture_default_str();
  app.add_option("--router", own.router, "kmeans: groups of what the layer reads; even: all experts score the same")
      ->check(CLI::IsMember({"kmeans", "even"}))
      ->capture_default_str();
  reads_file(app.add_option("-f,--file", own.texts,
                            "texts that kmeans reads, 4096 tokens spread over them; without it a short one that is "
                            "built in"));
  add_seed_flag(app, own.seed, "seed of kmeans; the same seed gives the same file");
  writes_file(app.add_option("-o,--output", own.output, "the file to write"))->required();
  add_output_flags(app, flags->common);
  app.callback([flags, &action] {
    if (!flags->own.texts.empty() && flags->own.router != "kmeans")
      throw CLI::ValidationError("-f is for --router kmeans: an even router reads no text");
    action = [flags] { return make_moe_command(flags->common, flags->own); };
  });
}

}  // namespace tandem::app
