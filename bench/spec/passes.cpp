// Times passes with drafts of several widths, without a text around them. The figures show which widths can pay at all.
#include "bench/spec/passes.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/engines.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/cache/draft_tree.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

// A pass of drafts: a chain, or a tree by the parents of its tokens.
struct Pass {
  int64_t tokens = 1;
  std::vector<int32_t> parents{};  // empty: a chain
};

// Chains of 1 to 8 and 16 tokens, and trees in which each token has two children.
std::vector<Pass> passes_of(const Engine& engine) {
  std::vector<Pass> passes;
  for (const int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 16})
    if (tokens <= engine.sizes().logit_rows) passes.push_back({tokens});
  const size_t chains = passes.size();
  for (size_t i = 0; i < chains && engine.sizes().tree_depth > 0; ++i) {
    if (passes[i].tokens < 3) continue;
    Pass tree{passes[i].tokens};
    for (int32_t token = 0; token < tree.tokens; ++token) tree.parents.push_back(token == 0 ? -1 : (token - 1) / 2);
    passes.push_back(std::move(tree));
  }
  return passes;
}

// A pass with logits of all its tokens.
Logits run(Engine& engine, Sequence& text, const Pass& pass, std::span<const int32_t> ids) {
  const Extension extension{&text, ids.first(static_cast<size_t>(pass.tokens)), pass.tokens, pass.parents};
  return engine.extend(std::span(&extension, 1));
}

// Error unless each token has the logits that it has behind its ancestors alone.
void verify(Engine& engine, Sequence& text, const Pass& pass, std::span<const int32_t> ids) {
  const int64_t depth = text.position();
  const Logits all = run(engine, text, pass, ids);
  const std::vector<float> rows(all.begin(), all.end());
  const size_t vocabulary = rows.size() / static_cast<size_t>(pass.tokens);
  std::vector<int32_t> parents = pass.parents;
  for (int32_t token = 0; parents.size() < static_cast<size_t>(pass.tokens); ++token) parents.push_back(token - 1);
  for (int32_t token = 0; token < pass.tokens; ++token) {
    text.rewind(depth);
    Logits alone;
    for (const int32_t at : path_to(parents, token))
      alone = extend(engine, text, ids.subspan(static_cast<size_t>(at), 1));
    if (std::memcmp(alone.data(), &rows[static_cast<size_t>(token) * vocabulary], vocabulary * sizeof(float)) != 0)
      throw Error("a draft's logits differ from those of plain decoding",
                  std::to_string(pass.tokens) + " tokens, token " + std::to_string(token));
  }
  text.rewind(depth);
}

}  // namespace

// All passes are verified first. Then they are timed in turn, several in a row, since plans change in the
// first of them.
int time_draft_passes(Engine& engine, int64_t depth, int rounds) {
  const std::vector<int32_t> ids = some_ids(engine.model().config().vocabulary, depth + 16);
  const auto behind = std::span(ids).subspan(static_cast<size_t>(depth));
  Sequence text = engine.cache().new_sequence();
  extend(engine, text, std::span(ids).first(static_cast<size_t>(depth)));
  const std::vector<Pass> passes = passes_of(engine);
  for (const Pass& pass : passes) verify(engine, text, pass, behind);
  std::vector<std::vector<double>> seconds(passes.size());
  // Plans are compared and replaced in the first passes.
  constexpr int kInARow = 8;
  take_turns(passes.size(), rounds, [&](size_t i, bool counts) {
    for (int pass = 0; pass < kInARow; ++pass) {
      const double start = now_seconds();
      run(engine, text, passes[i], behind);
      if (counts) seconds[i].push_back(now_seconds() - start);
      text.rewind(depth);
    }
  });
  std::printf("Measured: passes behind %lld tokens on %s, act %s; %s\n\n", static_cast<long long>(depth),
              engine.machine().device_names().c_str(), to_string(*engine.options().act), engine.plans().name().c_str());
  std::printf("| tokens | chain, ms | beside one token | tree, ms | beside the chain |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: |\n");
  const double single = median(seconds[0]);
  for (size_t i = 0; i < passes.size() && passes[i].parents.empty(); ++i) {
    const double chain = median(seconds[i]);
    std::printf("| %lld | %.2f | %.2f |", static_cast<long long>(passes[i].tokens), chain * 1e3, chain / single);
    const auto tree = std::ranges::find_if(
        passes, [&](const Pass& pass) { return !pass.parents.empty() && pass.tokens == passes[i].tokens; });
    if (tree == passes.end()) {
      std::printf(" | |\n");
    } else {
      const double of_tree = median(seconds[static_cast<size_t>(tree - passes.begin())]);
      std::printf(" %.2f | %.2f |\n", of_tree * 1e3, of_tree / chain);
    }
  }
  return 0;
}

}  // namespace tandem::bench
