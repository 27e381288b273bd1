// Records which experts the tokens of texts go to, beside any command that writes texts (--routing-out). The engine
// calls it behind each pass.
#include "engine/app/commands/text/routing_out.h"

#include <algorithm>
#include <cstdio>

#include "engine/app/file_flags.h"
#include "engine/run/choice/expert_use.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem::app {

// A model without experts is refused before it runs, since the file would be empty.
RoutingOut::RoutingOut(const CommonFlags& flags, Engine& engine)
    : path_(flags.routing_out), quiet_(flags.quiet()), engine_(engine) {
  if (path_.empty()) return;
  const ModelConfig& config = engine_.model().config();
  if (!config.experts) throw Error("the model has no experts", flags.model, "--routing-out is for mixtures of experts");
  record_.emplace(config.name, no_counts(config));
  engine_.watch_routing([this](const RoutedPass& pass) { take(pass); });
}

void RoutingOut::stop() {
  if (record_) engine_.watch_routing({});
}

// The file appears whole or not at all. It is written at the end, because its first line counts the tokens.
void RoutingOut::finish() {
  if (!record_) return;
  stop();
  OutputFile file(path_, while_unread(path_));
  record_->write([&](std::string_view text) { file.write(std::as_bytes(std::span(text))); });
  file.commit();
  if (!quiet_)
    std::fprintf(stderr, "routing of %lld tokens in %s\n", static_cast<long long>(record_->tokens()), path_.c_str());
}

// Whether these tokens can be the same text one pass later. Sequences have no names, so texts are followed by what
// they contain.
bool RoutingOut::Text::continues_as(std::span<const int32_t> now) const {
  const auto before = static_cast<size_t>(position);
  if (now.size() <= before || now.size() > ids.size()) return false;
  const size_t same = before == 0 ? ids.size() : before + 1;
  return now.size() >= same && std::ranges::equal(now.first(same), std::span(ids).first(same));
}

// A text without tokens begins here.
size_t RoutingOut::text_of(const Sequence& sequence) {
  for (size_t i = 0; i < texts_.size() && sequence.position() > 0; ++i)
    if (texts_[i].last_pass < passes_ && texts_[i].continues_as(sequence.ids())) return i;
  texts_.emplace_back();
  return texts_.size() - 1;
}

// Remembers what the text will contain behind this pass, which the next pass is compared with.
size_t RoutingOut::number_of(const Extension& extension) {
  const Sequence& sequence = *extension.sequence;
  const size_t number = text_of(sequence);
  Text& text = texts_[number];
  text.last_pass = passes_;
  text.position = sequence.position();
  text.ids.assign(sequence.ids().begin(), sequence.ids().end());
  text.ids.insert(text.ids.end(), extension.ids.begin(), extension.ids.end());
  return number;
}

// The rows of a pass are in this order: all extensions' tokens without logits, then those with logits.
void RoutingOut::take(const RoutedPass& pass) {
  const auto k = static_cast<size_t>(engine_.model().config().experts->used);
  size_t row = 0;
  std::vector<int64_t> numbers;
  ++passes_;
  for (const Extension& each : pass.extensions) numbers.push_back(static_cast<int64_t>(number_of(each)));
  const auto take_tokens = [&](size_t extension, int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token, ++row) {
      record_->begin(numbers[extension], position_of(pass.extensions[extension], token));
      for (const RoutedLayer& layer : pass.layers)
        record_->add(layer.ids.subspan(row * k, k), layer.weights.subspan(row * k, k));
    }
  };
  const auto without_logits = [](const Extension& each) { return std::ssize(each.ids) - each.logit_rows; };
  for (size_t i = 0; i < pass.extensions.size(); ++i) take_tokens(i, 0, without_logits(pass.extensions[i]));
  for (size_t i = 0; i < pass.extensions.size(); ++i)
    take_tokens(i, without_logits(pass.extensions[i]), std::ssize(pass.extensions[i].ids));
}

// A draft's position is its depth in the tree behind the text.
int64_t position_of(const Extension& extension, int64_t token) {
  const int64_t behind = extension.sequence->position();
  if (extension.parents.empty()) return behind + token;
  int64_t depth = 0;
  for (int32_t at = extension.parents[static_cast<size_t>(token)]; at >= 0;
       at = extension.parents[static_cast<size_t>(at)])
    ++depth;
  return behind + depth;
}

}  // namespace tandem::app
