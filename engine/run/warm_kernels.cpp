#include "engine/run/warm_kernels.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/registry.h"
#include "engine/model/gguf.h"
#include "engine/model/weights.h"
#include "engine/run/pass/timeline.h"

namespace tandem {
namespace {

// Attention and matmuls of many tokens work in tiles of up to 16 tokens. The rest of a longer pass has one of
// these numbers of tokens.
constexpr int64_t kTokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 33, 64};
constexpr int64_t kContext = 512;
// So many texts that a pass with one token of each is too long for a list.
constexpr int64_t kTexts = kListedTokens + 1;

// Some tokens of a text, or a tree of drafts with as many tokens, each of which directly follows the text.
struct Piece {
  int64_t text = 0, tokens = 1;
  bool tree = false;
};
using Pass = std::vector<Piece>;

// Passes that need each variant of attention: with one token of each text, with longer pieces, and with trees, in
// lists and outside them.
std::vector<Pass> passes_of_many(bool trees) {
  Pass one_each;
  for (int64_t text = 0; text < kTexts; ++text) one_each.push_back({text, 1});
  std::vector<Pass> passes = {{{0, 1}, {1, 1}}, one_each, {{0, 24}, {1, 1}}};
  if (trees) passes.insert(passes.end(), {{{0, 2, true}}, {{0, kTexts, true}}, {{0, 2, true}, {1, 30}}});
  return passes;
}

void run(Engine& engine, std::vector<Sequence>& texts, const Pass& pass) {
  const std::vector<int32_t> ids(64, 0), parents(64, -1);
  std::vector<Extension> extensions;
  for (const Piece& piece : pass) {
    const auto tokens = static_cast<size_t>(piece.tokens);
    extensions.push_back({&texts[static_cast<size_t>(piece.text)], std::span(ids).first(tokens), 1,
                          std::span(parents).first(piece.tree ? tokens : 0)});
  }
  engine.extend(extensions);
}

}  // namespace

// Opens the devices that a text would use, so that the same kernels are compiled. Few layers are enough, because all
// other layers use the same kernels.
EngineOptions options_to_warm(const std::string& model, const std::string& gpu, KvType kv_type, ActType act) {
  EngineOptions options;
  options.model_path = model;
  const std::optional<KnownGpu> card = default_card();
  options.devices = {card && card->id == gpu ? default_id(*card) : gpu};
  if (!card || card->id != gpu)
    options.devices.insert(options.devices.end(), {first_device(DeviceKind::npu), first_device(DeviceKind::host)});
  options.plan = "gpu-only";
  options.act = act;
  options.kv_type = kv_type;
  const ModelConfig config = read_config(GgufFile::open(model));
  options.context = kContext;
  if (config.position_rows > 0) options.context = std::min(kContext, config.position_rows);
  options.logit_rows = std::min(options.context, *std::ranges::max_element(kTokens));
  options.only_layers_of_every_kind = true;
  options.hidden_states = config.sees_all;  // an encoder has no logits
  options.program_folder = gpu::default_cache_folder();
  options.measurements = "";  // the model is not whole, so its times are not kept
  return options;
}

// Runs each number of tokens without and with recording, which may need other kernels. Logits for all tokens are what
// drafts need.
void warm_kernels(Engine& engine, const WarmProgress& progress) {
  std::vector<int64_t> lengths(std::begin(kTokens), std::end(kTokens));
  if (const int64_t most = engine.model().config().position_rows; most > 0)
    std::erase_if(lengths, [most](int64_t S) { return S > most; });
  int64_t done = 0;
  const auto total = 2 * std::ssize(lengths);
  for (const int64_t S : lengths) {
    const std::vector<int32_t> ids(static_cast<size_t>(S), 0);
    engine.plans().prepare_kernels(std::vector<Batch>{{S, 1}, {S, S}});
    for (const bool recorded : {false, true}) {
      Timeline timeline;
      Sequence text = engine.cache().new_sequence();
      engine.machine().record(recorded ? &timeline : nullptr);
      engine.extend(std::vector<Extension>{{&text, ids, S}});
      text.rewind(0);
      engine.extend(std::vector<Extension>{{&text, ids}});
      engine.machine().record(nullptr);
      if (!progress(++done, total)) return;
    }
  }
}

EngineOptions options_to_warm_many(const std::string& model, const std::string& gpu, KvType kv_type, ActType act) {
  EngineOptions options = options_to_warm(model, gpu, kv_type, act);
  options.sequences = kTexts;
  return options;
}

// Every round begins with new sequences, so both rounds run the same passes: first without and then with recording. An
// encoder reads each text as a whole, so its passes begin with new ones too.
void warm_kernels_of_many(Engine& engine, const WarmProgress& progress) {
  const bool whole = engine.model().config().sees_all;
  const std::vector<Pass> passes = passes_of_many(engine.machine().zero_copy() && !whole);
  int64_t done = 0;
  const int64_t total = 2 * std::ssize(passes);
  for (const bool recorded : {false, true}) {
    Timeline timeline;
    std::vector<Sequence> texts;
    for (const Pass& pass : passes) {
      if (whole) texts.clear();
      while (std::ssize(texts) < kTexts) texts.push_back(engine.cache().new_sequence());
      engine.machine().record(recorded ? &timeline : nullptr);
      run(engine, texts, pass);
      engine.machine().record(nullptr);
      if (!progress(++done, total)) return;
    }
  }
}

}  // namespace tandem
