// Chooses the drafts of a pass for all of its texts together (S4, M3, M4). A pass gets longer with each draft, so
// drafts compete for a place by their chance to be right.
#include "engine/run/serve/speculation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/draft/pass_size.h"
#include "engine/run/machine/kernel_preparation.h"
#include "engine/run/serve/verification.h"

namespace tandem {
namespace {

// Trees must give so much more than chains, because chances of branches are less certain.
constexpr double kTreeMargin = 0.05;

// Parents stand before their children, so any prefix of a tree is a tree.
void keep_first(TokenTree& tree, int64_t count) {
  const auto kept = static_cast<size_t>(std::clamp<int64_t>(count, 0, tree.nodes()));
  tree.ids.resize(kept);
  tree.parents.resize(kept);
  tree.positions.resize(kept);
  tree.weights.resize(kept);
  tree.origins.resize(kept);
}

}  // namespace

std::string Speculation::refusal(const SpecOptions& options) const {
  if (options.mode == SpecMode::none) return "speculative decoding was not asked for";
  if (options.draft_max < 1) return "at most 0 drafts were asked for";
  if (engine_.sizes().logit_rows < 2) return "passes have no room for drafts";
  if (options.mode == SpecMode::automatic && engine_.contract().bits_depend_on_passes)
    return "a token's bits depend on the other tokens of its pass";
  return "";
}

bool Speculation::takes_trees() const { return engine_.sizes().tree_depth > 0; }

// Accepting a branch copies keys and values. In a device's own memory that takes many small copies, so `auto` does
// without trees there. Nor does it wait for the compiler of their kernels.
bool Speculation::chooses_trees() const {
  return takes_trees() && engine_.machine().zero_copy() && has_kernels_of_few_tokens(engine_.machine());
}

// Drafts that the text may lose, by the times of passes with them. Without drafts a pass is shared by all texts.
int64_t Speculation::allowed_drafts(const TextSpeculation& text, std::span<const double> seconds, int64_t texts) const {
  int64_t most = 0;
  for (size_t n = 1; n < seconds.size(); ++n) {
    const bool runs = !std::isinf(seconds[n]);
    if (runs && text.budget_.allows(seconds[n] - seconds[0], seconds[0] / static_cast<double>(texts)))
      most = static_cast<int64_t>(n);
  }
  return most;
}

// The candidate whose chain gives the most tokens in its time, if the text were alone.
void Speculation::find_chains(const Choice& choice, std::span<const double> seconds) const {
  for (const Text& each : choice.texts) {
    if (!chooses(each)) continue;
    TextSpeculation& text = *each.speculation;
    const std::vector<DraftCandidate>& candidates = text.candidates_.candidates();
    const int64_t most = allowed_drafts(text, seconds, std::ssize(choice.texts));
    if (most == 0 && !candidates.empty()) text.no_drafts_ = NoDrafts::no_budget;
    const auto allowed = seconds.first(static_cast<size_t>(most) + 1);
    text.chain_ = {};
    double best = 0;
    for (size_t c = 0; c < candidates.size(); ++c) {
      TokenTree chain = chain_of(candidates[c], c);
      const double gain = tokens_a_second(chain.weights, allowed, 1, best_draft_count(chain.weights, allowed));
      if (c > 0 && gain <= best) continue;
      best = gain;
      text.chain_ = std::move(chain);
    }
    keep_first(text.chain_, std::min({most, text.draft_max_, each.room}));
  }
}

// All candidates of a text merged into one tree, as large as the text may have.
void Speculation::find_trees(const Choice& choice, std::span<const double> seconds) const {
  for (const Text& each : choice.texts) {
    if (!chooses(each)) continue;
    TextSpeculation& text = *each.speculation;
    const int64_t most = allowed_drafts(text, seconds, std::ssize(choice.texts));
    text.tree_ = merged(text.candidates_.candidates(), std::min({most, text.draft_max_, each.room}));
  }
}

// M3, M4: the drafts of all texts, by their weights. A text's weights fall, so a stable order keeps its order.
std::vector<Speculation::RankedDraft> Speculation::ranked(const Choice& choice, Drafts drafts) {
  std::vector<RankedDraft> ranked;
  for (size_t t = 0; t < choice.texts.size(); ++t) {
    if (!chooses(choice.texts[t])) continue;
    for (const double weight : (choice.texts[t].speculation->*drafts).weights) ranked.push_back({weight, t});
  }
  std::ranges::stable_sort(ranked, std::greater(), &RankedDraft::weight);
  return ranked;
}

// M4 among the open widths, and among all of them.
Speculation::Form Speculation::form_of(const Choice& choice, Drafts drafts, const PassBase& base,
                                       std::span<const double> possible) const {
  const std::vector<RankedDraft> ranked = this->ranked(choice, drafts);
  std::vector<double> weights;
  for (const RankedDraft& each : ranked) weights.push_back(each.weight);
  const std::vector<double> open = times().seconds(base, choice.most, choice.position, true);
  const int64_t count = best_draft_count(weights, open, base.tokens, kNoiseMargin);
  Form form{drafts, base, std::vector<int64_t>(choice.texts.size(), 0)};
  for (const RankedDraft& each : std::span(ranked).first(static_cast<size_t>(count))) ++form.counts[each.text];
  form.rate = tokens_a_second(weights, open, base.tokens, count);
  form.seconds = open[static_cast<size_t>(count)];
  form.wished = best_draft_count(weights, possible, base.tokens, kNoiseMargin);
  form.wished_rate = tokens_a_second(weights, possible, base.tokens, form.wished);
  return form;
}

// Whether trees would give more if their passes took as long as those of chains.
bool Speculation::may_gain_by_trees(const Choice& choice, const Form& chains, std::span<const double> seconds) {
  std::vector<double> weights;
  for (const RankedDraft& each : ranked(choice, &TextSpeculation::tree_)) weights.push_back(each.weight);
  const int64_t count = best_draft_count(weights, seconds, choice.base.tokens, kNoiseMargin);
  return tokens_a_second(weights, seconds, choice.base.tokens, count) > chains.wished_rate * (1 + kTreeMargin);
}

// A pass counts as a wish for a width that is not open, if that width would give more.
void Speculation::add_wish(const Form& taken, const Form& other) {
  if (other.wished_rate <= taken.rate) return;
  const double written = taken.rate * taken.seconds;  // tokens
  times().add_wish(other.base, other.base.tokens + other.wished, written / taken.rate - written / other.wished_rate);
}

// Modes that draft always take their drafts first. The drafts of all other texts are one list, and as many as pay run.
// Chains and trees are both planned, and the form with more tokens a second wins. If a pass of another width would gain
// more, that is noted as a wish for the width.
void Speculation::choose(std::span<const Text> texts, int64_t rows) {
  Choice choice{texts, {std::ssize(texts), false}};
  bool has_candidates = false;
  for (const Text& each : texts) {
    choice.position = std::max(choice.position, each.position);
    if (!each.speculation) continue;
    TextSpeculation& text = *each.speculation;
    text.drafts_ = {};
    text.candidates_.find_candidates();
    propose_by_model(each, choice.base, rows);
    const bool matches = !text.candidates_.candidates().empty();
    text.no_drafts_ = !matches ? NoDrafts::no_match : each.room > 0 ? NoDrafts::no_gain : NoDrafts::no_room;
    has_candidates = has_candidates || (chooses(each) && matches);
  }
  for (const Text& each : texts) {
    if (!each.speculation || chooses(each)) continue;
    choice.base.tokens += take_all(*each.speculation, std::min(each.room, rows - choice.base.tokens));
    choice.base.has_trees = choice.base.has_trees || !is_chain(each.speculation->drafts());
  }
  choice.most = rows - choice.base.tokens;
  if (!has_candidates) return;
  if (choice.most <= 0) {
    for (const Text& each : texts)
      if (chooses(each) && each.speculation->no_drafts_ == NoDrafts::no_gain)
        each.speculation->no_drafts_ = NoDrafts::no_room;
    return;
  }
  const std::vector<double> possible = times().seconds(choice.base, choice.most, choice.position, false);
  find_chains(choice, possible);
  const Form chains = form_of(choice, &TextSpeculation::chain_, choice.base, possible);
  Form best = chains;
  if (chooses_trees()) {
    find_trees(choice, possible);
    if (may_gain_by_trees(choice, chains, possible)) {
      const PassBase base{choice.base.tokens, true};
      const Form trees =
          form_of(choice, &TextSpeculation::tree_, base, times().seconds(base, choice.most, choice.position, false));
      if (trees.rate > chains.rate * (1 + kTreeMargin)) best = trees;
      if (trees.wished_rate > chains.wished_rate * (1 + kTreeMargin)) add_wish(best, trees);
    }
  }
  add_wish(best, chains);
  for (size_t t = 0; t < texts.size(); ++t) {
    if (!chooses(texts[t])) continue;
    TextSpeculation& text = *texts[t].speculation;
    if (best.counts[t] > 0) text.take(text.*best.drafts, best.counts[t]);
    if (text.no_drafts_ == NoDrafts::no_gain && best.wished_rate > best.rate) text.no_drafts_ = NoDrafts::new_width;
  }
}

// The draft model proposes last, because it only runs if it beats the matches.
void Speculation::propose_by_model(const Text& of, const PassBase& base, int64_t rows) const {
  TextSpeculation& text = *of.speculation;
  if (!text.model_) return;
  const int64_t most = std::min({of.room, rows - base.tokens, text.draft_max_});
  text.model_->add_candidate(text.candidates_, times(), {base.tokens, of.position, most}, text.budget_);
}

// The paper's own way takes the whole tree. An engine without trees takes the chain with the best chances.
int64_t Speculation::take_all(TextSpeculation& text, int64_t room) const {
  const std::vector<DraftCandidate>& candidates = text.candidates_.candidates();
  const int64_t most = std::clamp<int64_t>(room, 0, text.draft_max_);
  TokenTree all;
  if (takes_trees() && candidates.size() > 1) {
    all = merged(candidates, most);
  } else {
    double best = -1;
    for (size_t c = 0; c < candidates.size(); ++c) {
      TokenTree chain = chain_of(candidates[c], c);
      keep_first(chain, most);
      const double sum = std::accumulate(chain.weights.begin(), chain.weights.end(), 0.0);
      if (sum > best) best = sum, all = std::move(chain);
    }
  }
  text.take(all, all.nodes());
  return all.nodes();
}

// Tells the table of times how long this pass took, and charges each text its share of the drafts' time.
void Speculation::learn(std::span<const Text> texts, double seconds) {
  PassBase base{std::ssize(texts), false};
  int64_t drafts = 0, position = 0;
  for (const Text& each : texts) {
    position = std::max(position, each.position);
    if (!each.speculation) continue;
    drafts += std::ssize(each.speculation->drafts_.ids);
    base.has_trees = base.has_trees || !is_chain(each.speculation->drafts_);
  }
  times().learn(base, base.tokens + drafts, position, seconds);
  // The cost of drafts is judged by usual times, because another program may have had the cores during this pass.
  const std::vector<double> usual = times().seconds(base, drafts, position, false);
  const double plain = usual.front(), extra = (std::isinf(usual.back()) ? seconds : usual.back()) - plain;
  for (const Text& each : texts) {
    if (!each.speculation) continue;
    const auto own = static_cast<double>(std::ssize(each.speculation->drafts_.ids));
    const double of_model = each.speculation->model_ ? each.speculation->model_->take_seconds() : 0;
    each.speculation->pass_ = {plain / static_cast<double>(base.tokens),
                               of_model + (drafts > 0 ? std::max(extra, 0.0) * own / static_cast<double>(drafts) : 0)};
  }
}

}  // namespace tandem
