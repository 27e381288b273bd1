// Vectors of texts: passes give states in the place of logits, and pooling makes one vector of a text's states.
#include "tandem/embed.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "engine/run/cache/extension.h"
#include "engine/run/engine.h"
#include "engine/run/serve/embedder_options.h"
#include "engine/run/serve/extend.h"
#include "engine/run/serve/pooling.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem {
namespace {

constexpr int64_t kMostOfEncoder = 2048;  // tokens of a text, if the user says no other number

using Texts = std::span<const std::vector<int32_t>>;

// Embeds texts, as many in a pass as it takes.
class Embedding {
 public:
  Embedding(Engine& engine, const EmbedOptions& options)
      : engine_(engine), options_(options), pooling_(pooling_of(engine.model(), options.pooling)) {}

  std::vector<std::vector<float>> run(Texts texts) {
    for (const auto& text : texts) require_embeddable(engine_, text);
    while (!texts.empty()) {
      if (!vectors_.empty() && options_.interrupted && options_.interrupted()) throw Interrupted();
      const size_t count = texts_of_pass(texts);
      count == 0 ? add_long(texts.front()) : add_pass(texts.first(count));
      texts = texts.subspan(std::max<size_t>(count, 1));
    }
    return std::move(vectors_);
  }

 private:
  // How many of the texts share the next pass; 0: the first one is longer than a pass.
  size_t texts_of_pass(Texts texts) const {
    const auto most = std::min(texts.size(), static_cast<size_t>(engine_.options().sequences));
    int64_t room = engine_.sizes().tokens;
    size_t count = 0;
    while (count < most && std::ssize(texts[count]) <= room) room -= std::ssize(texts[count++]);
    return count;
  }

  // Only one state is wanted of a causal text's last token.
  int64_t states_of(std::span<const int32_t> text) const {
    return pooling_ == Pooling::last && !engine_.model().config().sees_all ? 1 : std::ssize(text);
  }

  // Each text is a sequence of its own for one pass, and its pages go back at the end of this function.
  void add_pass(Texts texts) {
    std::vector<Sequence> sequences;
    for (size_t i = 0; i < texts.size(); ++i) sequences.push_back(engine_.cache().new_sequence());
    std::vector<Extension> extensions;
    for (size_t i = 0; i < texts.size(); ++i) extensions.push_back({&sequences[i], texts[i], states_of(texts[i])});
    const Logits all = engine_.extend(extensions);
    std::span<const float> states = all;
    for (const Extension& each : extensions) {
      const auto values = static_cast<size_t>(each.logit_rows * engine_.width());
      require_finite(engine_, states.first(values), std::ssize(each.ids) - each.logit_rows);
      take(states.first(values));
      states = states.subspan(values);
    }
  }

  // A causal text that is longer than a pass runs in chunks. Its states are pooled chunk by chunk, so they are never
  // all in memory.
  void add_long(std::span<const int32_t> text) {
    Sequence sequence = engine_.cache().new_sequence();
    const ExtendOptions extending{.interrupted = options_.interrupted};
    if (states_of(text) == 1) return take(extend(engine_, sequence, text, extending));
    Pooled pool(pooling_, engine_.width());
    extend_all(
        engine_, sequence, text, [&](int64_t, std::span<const float> states) { pool.add(states); }, extending);
    vectors_.push_back(pool.vector(options_.normed));
  }

  void take(std::span<const float> states) {
    Pooled pool(pooling_, engine_.width());
    pool.add(states);
    vectors_.push_back(pool.vector(options_.normed));
  }

  Engine& engine_;
  const EmbedOptions& options_;
  const Pooling pooling_;
  std::vector<std::vector<float>> vectors_;
};

}  // namespace

// The user's word comes first, then the file's. A causal model without a word of its own takes the last token, which
// has seen all others.
Pooling pooling_of(const LoadedModel& model, std::optional<Pooling> asked) {
  const ModelConfig& config = model.config();
  const std::string place = model.file().path() + ": " + config.architecture + ".pooling_type";
  const Pooling pooling = asked ? *asked : config.pooling.value_or(config.sees_all ? Pooling::none : Pooling::last);
  if (pooling == Pooling::rank)
    throw Error("the model compares two texts, and gives no vector of one", place,
                "Use a model that is made for embeddings");
  if (pooling == Pooling::none)
    throw Error("the model does not say how the vectors of tokens become that of a text", place,
                "Say it with --pooling mean, cls or last");
  return pooling;
}

// An encoder's tokens see each other in both directions, so its text cannot be cut into chunks.
void require_embeddable(const Engine& engine, std::span<const int32_t> text) {
  const ModelConfig& config = engine.model().config();
  if (!engine.sizes().hidden_states)
    throw Error("the engine gives logits, not states", "embed", "Open it with TextOptions::hidden_states");
  if (text.empty()) throw Error("a text without tokens has no vector", "embed", "Give at least one token");
  const int64_t most = engine.sizes().tokens, tokens = std::ssize(text);
  if (tokens > engine.sizes().context)
    throw Error("a text is longer than the context",
                std::to_string(tokens) + " tokens of " + std::to_string(engine.sizes().context),
                "Shorten it, or ask for a larger context with --ctx-size if the model has one");
  if (config.sees_all && tokens > most)
    throw Error("a text is longer than one pass, and an encoder reads it as one piece",
                std::to_string(tokens) + " tokens of " + std::to_string(most),
                "Shorten it, or take longer passes with --chunk " + std::to_string(tokens));
  check_ids(text, 0, config.vocabulary, engine.sizes().context);
}

std::vector<std::vector<float>> embed(Engine& engine, Texts texts, const EmbedOptions& options) {
  return Embedding(engine, options).run(texts);
}

int64_t context_of_encoder(int64_t asked, const ModelConfig& config) {
  return asked > 0 ? asked : std::min(config.context_length, kMostOfEncoder);
}

// The second engine of a model has the same sizes, but neither drafts nor room for them.
TextOptions embedder_options(const Engine& engine) {
  TextOptions options = engine.options();
  options.hidden_states = true;
  options.drafts = false;
  options.spare_texts = 0;
  options.warming_program.clear();
  options.context = engine.sizes().context;
  return options;
}

}  // namespace tandem
