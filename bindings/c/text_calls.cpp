// Texts, their logits, and cancels.
#include "bindings/c/text_calls.h"

#include <optional>
#include <utility>

namespace tandem::bindings {
namespace {

// Hands a text's pieces to the caller: each token with the text that it completes.
class Pieces {
 public:
  Pieces(tandem_on_piece on_piece, void* user, std::function<bool()> is_cancelled)
      : on_piece_(on_piece), user_(user), is_cancelled_(std::move(is_cancelled)) {}

  // The engine reports a token first and the text that it completes afterwards. A token that completes no character has
  // no text, so it is handed over when the next one comes.
  void token(const ChosenToken& token) {
    flush();  // a token without a text of its own
    waiting_ = token;
  }
  // Text without a token was held back and comes at the end. Its id is -1.
  void text(std::string_view text) {
    hand_over(waiting_.value_or(ChosenToken{-1}), text);
    waiting_.reset();
  }
  void flush() {
    if (waiting_) hand_over(*std::exchange(waiting_, std::nullopt), "");
  }
  bool is_stopped() const { return is_stopped_ || (is_cancelled_ && is_cancelled_()); }

 private:
  // After the callback has asked to stop, it is not called again, even if the engine still has pieces from the
  // same pass.
  void hand_over(const ChosenToken& token, std::string_view text) {
    if (on_piece_ == nullptr || is_stopped_) return;
    const InCallback in_callback;
    const tandem_piece piece{sizeof piece, token.id, token.logprob, text.empty() ? "" : text.data(), text.size()};
    is_stopped_ = on_piece_(user_, &piece) != 0;
  }

  const tandem_on_piece on_piece_;
  void* const user_;
  const std::function<bool()> is_cancelled_;
  std::optional<ChosenToken> waiting_;
  bool is_stopped_ = false;
};

// The array and each of its texts come from the caller, so each pointer is checked before it is read.
std::vector<std::string> stops_of(const tandem_generate_options& asked) {
  std::vector<std::string> stops;
  if (asked.stop_count > 0) require_pointer(static_cast<const void*>(asked.stop), "stop");
  for (size_t i = 0; i < asked.stop_count; ++i) {
    require_pointer(asked.stop[i], "stop");
    stops.emplace_back(asked.stop[i]);
  }
  return stops;
}

Form form_of(const tandem_generate_options& asked) {
  return {asked.json_schema == nullptr ? "" : asked.json_schema, asked.grammar == nullptr ? "" : asked.grammar,
          asked.json_object != 0};
}

// Flags of C are integers, and anything but 0 means true. With `chat` the stops of the model's template are added to
// the caller's own, since an answer must end at either.
GenerateOptions options_of_text(const TextModel& model, const tandem_generate_options& asked) {
  GenerateOptions options;
  options.predict = asked.predict;
  options.sampler.temperature = asked.temperature;
  options.sampler.top_k = asked.top_k;
  options.sampler.top_p = asked.top_p;
  options.sampler.min_p = asked.min_p;
  options.sampler.repeat_penalty = asked.repeat_penalty;
  options.sampler.presence_penalty = asked.presence_penalty;
  options.sampler.frequency_penalty = asked.frequency_penalty;
  options.sampler.seed = asked.seed;
  options.ignore_end = asked.ignore_end != 0;
  options.logprobs = asked.logprobs != 0 ? 0 : -1;
  options.stop = stops_of(asked);
  if (asked.chat != 0)
    for (std::string& stop : model.chat_stops()) options.stop.push_back(std::move(stop));
  if (asked.spec != nullptr) options.spec.mode = spec_mode_of(asked.spec);
  require_drafts(options.spec.draft_max = asked.draft_max);
  options.constraint = model.constraint(form_of(asked));
  require_sound(options.sampler);
  return options;
}

// The memory of a result, until it is the caller's.
struct Given {
  explicit Given(void* memory) : memory(memory) {}
  ~Given() { tandem_free(memory); }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  void* memory;
};

// Both blocks of memory are made before either is handed over. So a lack of memory leaves the caller's structure as it
// was. At last so much is copied as the caller's structure has room for.
void give(const Generation& result, tandem_generation& generation) {
  Given ids(given(result.ids));
  Given text(given(std::string_view(result.text)));
  tandem_generation all{};
  all.size = generation.size;
  all.ids = static_cast<int32_t*>(std::exchange(ids.memory, nullptr));
  all.id_count = result.ids.size();
  all.text = static_cast<char*>(std::exchange(text.memory, nullptr));
  all.text_bytes = result.text.size();
  all.stop_reason = to_string(result.reason);
  all.prompt_tokens = result.prompt_tokens;
  all.prompt_seconds = result.prompt_seconds;
  all.predicted_seconds = result.predicted_seconds;
  std::memcpy(&generation, &all, all.size);
}

// The structure must have room for the ids and the text, which would be lost else.
void require_size(const tandem_generation* generation) {
  if (generation == nullptr) return;
  constexpr const char *kFailure = "a result structure has the wrong size",
                       *kHint = "Set its member `size` to its sizeof before the call";
  require_whole_members(generation->size, kFailure, kHint);
  if (generation->size >= offsetof(tandem_generation, stop_reason) && generation->size <= sizeof *generation) return;
  throw UsageError(kFailure, std::to_string(generation->size) + " bytes", kHint);
}

// Each text's ids, which lie one after the other.
std::vector<std::vector<int32_t>> texts_of(const TextModel& model, const int32_t* ids, const size_t* counts,
                                           size_t texts) {
  if (texts > 0) require_pointer(counts, "counts");
  std::vector<std::vector<int32_t>> all;
  for (size_t i = 0; i < texts; ++i) {
    const auto some = ids_of(ids, counts[i]);
    model.require_ids(some, 0);  // before they are copied
    all.emplace_back(some.begin(), some.end());
    ids += counts[i];
  }
  return all;
}

}  // namespace

// The pieces live on this thread's stack, and the callbacks refer to them. The references are valid, because `write`
// returns after the text has ended and no callback comes later.
void write_text(const TextModel& model, const tandem_generate_options* options, tandem_on_piece on_piece, void* user,
                tandem_generation* generation, const std::function<Generation(GenerateOptions)>& write) {
  require_size(generation);
  const tandem_generate_options asked = options_of(options, tandem_generate_options_init);
  GenerateOptions all = options_of_text(model, asked);
  Pieces pieces(on_piece, user, asked_of(asked.cancel));
  all.on_token = [&](const ChosenToken& token) { pieces.token(token); };
  all.on_text = [&](std::string_view text) { pieces.text(text); };
  all.interrupted = [&] { return pieces.is_stopped(); };
  const Generation result = write(std::move(all));
  pieces.flush();
  if (generation != nullptr) give(result, *generation);
}

}  // namespace tandem::bindings

using namespace tandem::bindings;

// Defaults come from the engine's own options, so that the C interface cannot differ from the program.
void tandem_generate_options_init(tandem_generate_options* options, size_t size) {
  const tandem::GenerateOptions usual;
  tandem_generate_options defaults{};
  defaults.predict = usual.predict;
  defaults.temperature = usual.sampler.temperature;
  defaults.top_k = usual.sampler.top_k;
  defaults.top_p = usual.sampler.top_p;
  defaults.min_p = usual.sampler.min_p;
  defaults.repeat_penalty = usual.sampler.repeat_penalty;
  defaults.draft_max = usual.spec.draft_max;
  fill(options, size, defaults);
}

tandem_status tandem_cancel_new(tandem_cancel** cancel) {
  return guarded([&] {
    require_pointer(cancel, "cancel");
    *cancel = reinterpret_cast<tandem_cancel*>(cancels().add(std::make_shared<Cancel>()));
  });
}

// Any thread may set a cancel, and the pass that runs is still finished. The text ends behind it.
tandem_status tandem_cancel_set(tandem_cancel* cancel) {
  return guarded([&] { cancels().get(reinterpret_cast<uintptr_t>(cancel))->is_set = true; });
}

tandem_status tandem_cancel_free(tandem_cancel* cancel) {
  return guarded([&] { cancels().remove(reinterpret_cast<uintptr_t>(cancel)); });
}

// Holding the model by a shared pointer keeps it alive if another thread frees the handle during the text.
tandem_status tandem_generate(tandem_model* model, const int32_t* ids, size_t count,
                              const tandem_generate_options* options, tandem_on_piece on_piece, void* user,
                              tandem_generation* generation) {
  return guarded([&] {
    const auto of = model_of(model);
    const auto prompt = ids_of(ids, count);
    of->require_ids(prompt, 0);  // before they are copied
    write_text(*of, options, on_piece, user, generation, [&](tandem::GenerateOptions all) {
      return of->write({prompt.begin(), prompt.end()}, std::move(all), nullptr);
    });
  });
}

void tandem_embed_options_init(tandem_embed_options* options, size_t size) {
  fill(options, size, tandem_embed_options{});
}

// Vectors of all texts come in one block, row by row, so the caller frees one address.
tandem_status tandem_embed(tandem_model* model, const int32_t* ids, const size_t* counts, size_t texts,
                           const tandem_embed_options* options, float** vectors, int64_t* width) {
  return guarded([&] {
    require_pointer(vectors, "vectors");
    const auto of = model_of(model);
    const tandem_embed_options asked = options_of(options, tandem_embed_options_init);
    const auto all = texts_of(*of, ids, counts, texts);
    *vectors = given(std::span<const float>(
        of->embed(all, asked.pooling == nullptr ? "" : asked.pooling, asked.plain == 0, {asked_of(asked.cancel)})));
    if (width != nullptr) *width = of->width();
  });
}

tandem_status tandem_eval(tandem_model* model, const int32_t* ids, size_t count, tandem_cancel* cancel,
                          float** logits) {
  return guarded([&] {
    require_pointer(logits, "logits");
    *logits = given(model_of(model)->eval(ids_of(ids, count), {asked_of(cancel)}).values);
  });
}

tandem_status tandem_perplexity(tandem_model* model, const int32_t* ids, size_t count, tandem_cancel* cancel,
                                double* perplexity) {
  return guarded([&] {
    require_pointer(perplexity, "perplexity");
    *perplexity = model_of(model)->perplexity(ids_of(ids, count), {asked_of(cancel)});
  });
}
