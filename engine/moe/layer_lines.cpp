// Routing that other programs have recorded comes as one line for a token in one layer. This class collects such lines
// and joins them into tokens.
#include "engine/moe/layer_lines.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {

// Only a line in which a key's name stands more than once is parsed a second time.
std::string key_twice(std::string_view line, std::initializer_list<std::string_view> keys) {
  const auto stands_twice = [line](std::string_view key) {
    const std::string quoted = '"' + std::string(key) + '"';
    const size_t first = line.find(quoted);
    return first != std::string_view::npos && line.find(quoted, first + 1) != std::string_view::npos;
  };
  if (std::ranges::none_of(keys, stands_twice)) return "";
  const JsonFlaw flaw = json_flaw(line, kMostJsonDepth);
  return flaw.kind == JsonFlaw::Kind::twice ? flaw.detail : "";
}

// Every failure names the line of the file, since such files are long and come from elsewhere.
void LayerLines::fail(const std::string& problem, int64_t line) const {
  throw Error("recorded routing cannot be read: " + problem, source_ + ", line " + std::to_string(line),
              "docs/hybrimoe.md has the forms");
}

void LayerLines::add(int64_t layer, LayerLine line) {
  if (used_ == 0) used_ = std::ssize(line.ids);
  if (std::ssize(line.ids) != used_)
    fail("layer " + std::to_string(layer) + " has a token with " + std::to_string(line.ids.size()) +
             " experts, others have " + std::to_string(used_),
         line.line);
  if (std::set(line.ids.begin(), line.ids.end()).size() != line.ids.size())
    fail("layer " + std::to_string(layer) + " has a token that goes to one expert twice", line.line);
  for (const int32_t id : line.ids)
    if (id > largest_) largest_ = id, largest_line_ = line.line;
  layers_[layer].push_back(std::move(line));
}

// Sequences get numbers in the order in which their names first appear.
int64_t LayerLines::sequence_of(const std::string& name) {
  return sequences_.try_emplace(name, std::ssize(sequences_)).first->second;
}

// The number of experts comes from the file, from a flag, or from the largest id. The last one may be too small, so a
// note says it.
int64_t LayerLines::experts_of(RecordedRouting& routing, const RoutingHints& stated, const RoutingHints& hints) const {
  if (stated.experts > 0 && hints.experts > 0 && stated.experts != hints.experts)
    throw Error("the recorded routing has another number of experts", source_,
                "It says " + std::to_string(stated.experts) + ", --experts says " + std::to_string(hints.experts));
  int64_t experts = std::max(stated.experts, hints.experts);
  if (experts == 0) {
    experts = int64_t{largest_} + 1;
    routing.notes.push_back("the file does not say how many experts there are: " + std::to_string(experts) +
                            ", by its largest id (--experts N says it)");
  }
  if (largest_ >= experts)
    fail("expert " + std::to_string(largest_) + " is not one of " + std::to_string(experts), largest_line_);
  return experts;
}

// Compares each layer with the first one.
void LayerLines::require_same_tokens() const {
  const auto& [first_layer, first] = *layers_.begin();
  for (const auto& [layer, lines] : layers_) {
    const std::string both = "layer " + std::to_string(layer) + " and layer " + std::to_string(first_layer);
    for (size_t i = 0; i < std::min(lines.size(), first.size()); ++i)
      if (lines[i].row != first[i].row || lines[i].sequence != first[i].sequence)
        fail(both + " have different tokens here, of lines " + std::to_string(lines[i].line) + " and " +
                 std::to_string(first[i].line),
             lines[i].line);
    if (lines.size() != first.size())
      fail(both + " have " + std::to_string(lines.size()) + " and " + std::to_string(first.size()) + " tokens",
           lines.empty() ? 1 : lines.back().line);
  }
}

// Joins lines that came layer by layer into tokens. The k-th line of each layer belongs to the k-th token. Positions
// count within a sequence. Weights are kept only if each layer has some.
void LayerLines::put_together(RecordedRouting& routing, const RoutingHints& stated, const RoutingHints& hints) const {
  if (used_ == 0) throw Error("the recorded routing has no tokens", source_, "docs/hybrimoe.md has the forms");
  for (const int64_t k : {stated.used, hints.used})
    if (k > 0 && k != used_)
      throw Error("the recorded routing has another number of experts for a token", source_,
                  "Its tokens have " + std::to_string(used_) + ", not " + std::to_string(k));
  RoutingTrace& trace = routing.trace;
  trace.experts = experts_of(routing, stated, hints);
  trace.used = used_;
  require_same_tokens();
  std::map<int64_t, int64_t> positions;  // of each sequence
  const std::vector<LayerLine>& first = layers_.begin()->second;
  for (const auto& [layer, lines] : layers_) trace.layers.push_back(layer);
  for (size_t i = 0; i < first.size(); ++i) {
    TracedToken token{first[i].sequence, positions[first[i].sequence]++, {}, {}, {}};
    for (const auto& [layer, lines] : layers_) {
      token.experts.push_back(lines[i].ids);
      if (!lines[i].weights.empty()) token.weights.push_back(lines[i].weights);
    }
    if (token.weights.size() != token.experts.size()) token.weights.clear();  // known in some layers only
    trace.tokens.push_back(std::move(token));
  }
  if (sequences_.empty()) routing.has_sequences = false;
}

}  // namespace tandem
