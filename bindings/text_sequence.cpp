// Sequences of a user. Each use takes a turn. A second use at the same time is refused at once, because waiting would
// make that mistake of a program look like a hang.
#include <algorithm>

#include "bindings/text_model.h"
#include "engine/run/engine.h"
#include "engine/run/serve/extend.h"

namespace tandem::bindings {

// A sequence's use by one call at a time.
class TextSequence::Turn {
 public:
  explicit Turn(std::atomic<bool>& is_busy) : is_busy_(is_busy) {
    if (is_busy_.exchange(true))
      throw UsageError("the sequence is in use", "by another call", "Use it in one thread at a time, or fork it");
  }
  ~Turn() { end(); }
  void end() {
    if (!has_ended_) is_busy_ = false;
    has_ended_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& is_busy_;
  bool has_ended_ = false;
};

namespace {

// A model that only makes vectors has no cache, and so it is refused first.
Sequence new_sequence(const TextModel& model) {
  model.require_writer();
  std::optional<Sequence> made;
  model.between_passes([&](Engine& engine) { made = engine.cache().new_sequence(); });
  return std::move(*made);
}

void require_within(const Sequence& sequence, int64_t position, const char* failure) {
  if (position < 0 || position > sequence.position())
    throw UsageError(failure, "position " + std::to_string(position),
                     "It has " + std::to_string(sequence.position()) + " tokens");
}

}  // namespace

TextSequence::TextSequence(std::shared_ptr<TextModel> model) : TextSequence(model, new_sequence(*model)) {}
TextSequence::TextSequence(std::shared_ptr<TextModel> model, Sequence sequence)
    : model_(std::move(model)), sequence_(std::move(sequence)) {}

// Pages are returned between two passes. Nobody waits for that, so any thread may drop a sequence, in a callback too.
TextSequence::~TextSequence() {
  const auto last = std::make_shared<Sequence>(std::move(sequence_));
  try {
    model_->post([last](Engine&) { last->rewind(0); });
  } catch (const std::exception&) {  // the model is closed: no pass uses the pages
  }
}

// The turn is taken on the caller's thread and held until the work has run on the service's thread.
void TextSequence::between(const std::function<void(Engine&, Sequence&)>& work, const std::function<void()>& look,
                           int64_t tokens) const {
  const Turn turn(is_busy_);
  model_->between_passes([&](Engine& engine) { work(engine, sequence_); }, look, tokens);
}

int64_t TextSequence::position() const {
  const Turn turn(is_busy_);
  return sequence_.position();
}

std::vector<int32_t> TextSequence::ids() const {
  const Turn turn(is_busy_);
  return {sequence_.ids().begin(), sequence_.ids().end()};
}

// Positions are checked between two passes, when the sequence cannot change. Logits that are not finite show a broken
// model or device, and so they are an error.
KeptLogits TextSequence::extend(std::span<const int32_t> ids, const Patience& patience, KeptLogits* last) {
  if (ids.empty()) throw UsageError("there is nothing to append", "ids", "Give at least one token");
  KeptLogits extended;
  between(
      [&](Engine& engine, Sequence& sequence) {
        model_->require_ids(ids, sequence.position());
        if (last != nullptr) *last = {};
        const Logits logits = tandem::extend(engine, sequence, ids, {.interrupted = patience.is_over});
        require_finite(engine, logits, sequence.position() - 1);
        extended = keep(engine, logits);
        if (last != nullptr) *last = extended;
      },
      patience.look, std::ssize(ids));
  return extended;
}

// Whole pages are shared by both sequences, so a fork costs about the same at any length.
std::shared_ptr<TextSequence> TextSequence::fork(int64_t position) const {
  std::optional<Sequence> forked;
  between(
      [&](Engine& engine, Sequence& sequence) {
        require_within(sequence, position, "a sequence cannot be forked there");
        forked = engine.cache().fork(sequence, position);
      },
      {}, 1);
  return std::make_shared<TextSequence>(model_, std::move(*forked));
}

void TextSequence::rewind(int64_t position) {
  between([&](Engine&, Sequence& sequence) {
    require_within(sequence, position, "a sequence cannot be rewound to there");
    sequence.rewind(position);
  });
}

void TextSequence::save(const std::string& path) const {
  between(
      [&](Engine& engine, Sequence& sequence) { as_kind<FileError>([&] { engine.cache().save(path, sequence); }); });
}

std::shared_ptr<TextSequence> TextSequence::load(std::shared_ptr<TextModel> model, const std::string& path) {
  model->require_writer();
  std::optional<Sequence> loaded;
  model->between_passes([&](Engine& engine) { loaded = as_kind<FileError>([&] { return engine.cache().load(path); }); },
                        {}, model->context());
  return std::make_shared<TextSequence>(std::move(model), std::move(*loaded));
}

// The tree's tokens run in one pass, each with the tokens of its path as context. They are no part of the text until
// accept() names a path.
KeptLogits TextSequence::draft(std::span<const int32_t> ids, std::span<const int32_t> parents) {
  if (ids.empty() || ids.size() != parents.size())
    throw UsageError("a tree of drafts needs a parent for each token",
                     std::to_string(ids.size()) + " tokens, " + std::to_string(parents.size()) + " parents",
                     "Give one parent for each token; -1: it follows the text");
  for (size_t i = 0; i < parents.size(); ++i)
    if (parents[i] < -1 || parents[i] >= static_cast<int32_t>(i))
      throw UsageError("the parent of a draft does not come before it",
                       "token " + std::to_string(i) + ", its parent " + std::to_string(parents[i]),
                       "-1 is the end of the text");
  KeptLogits all;
  between(
      [&](Engine& engine, Sequence& sequence) {
        model_->require_ids(ids, sequence.position());
        const Extension extension{&sequence, ids, std::ssize(ids), parents};
        const Logits logits = engine.extend({&extension, 1});
        require_finite(engine, logits, sequence.position());
        all = keep(engine, logits);
      },
      {}, std::ssize(ids));
  return all;
}

void TextSequence::accept(std::span<const int32_t> path) {
  between(
      [&](Engine& engine, Sequence& sequence) { as_kind<UsageError>([&] { engine.cache().accept(sequence, path); }); });
}

// A request gives the whole text: the sequence's tokens, which do not run again, and the prompt.
std::vector<int32_t> TextSequence::behind_own(std::span<const int32_t> prompt) const {
  if (prompt.empty()) throw UsageError("the prompt is empty", "ids", "Give at least one token");
  model_->require_ids(prompt, sequence_.position());  // before they are copied
  std::vector<int32_t> all(sequence_.ids().begin(), sequence_.ids().end());
  all.insert(all.end(), prompt.begin(), prompt.end());
  return all;
}

Generation TextSequence::write(std::span<const int32_t> prompt, GenerateOptions options) {
  const Turn turn(is_busy_);
  return model_->write(behind_own(prompt), std::move(options), &sequence_);
}

// The turn ends with the text.
TextTicket TextSequence::start(std::span<const int32_t> prompt, GenerateOptions options,
                               std::function<void(Batcher::Result)> on_end) {
  const auto turn = std::make_shared<Turn>(is_busy_);
  return model_->start(behind_own(prompt), std::move(options), &sequence_,
                       [turn, on_end = std::move(on_end)](Batcher::Result ended) mutable {
                         turn->end();
                         on_end(std::move(ended));
                       });
}

}  // namespace tandem::bindings
