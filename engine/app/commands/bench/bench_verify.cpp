#include "engine/app/commands/bench/bench_verify.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "engine/app/commands/open_engine.h"
#include "engine/app/interrupt.h"
#include "engine/run/choice/contract.h"
#include "tandem/embed.h"

namespace tandem::app {
namespace {

// Few tokens, because the host's own loops are slow. They read a large model from memory once a pass.
constexpr int64_t kPromptTokens = 6, kSingleTokens = 2;
// Tokens in a piece when a row runs a second time.
constexpr int64_t kPiece = 32;

std::string name_of(const Engine& engine) {
  return engine.machine().device_names() + ", plan " + engine.options().plan;
}

// The reason why passes of these lengths, from `position` on, do not promise the contract's bits. "" if they do.
std::string why_tolerance(Engine& engine, int64_t position, std::initializer_list<int64_t> lengths) {
  for (const int64_t S : lengths) {
    const Plan plan = engine.plans().planner().plan_for({S, 1}, position);
    const auto reason = why_not_contract_bits(plan, engine.machine().infos(), *engine.options().act == ActType::f16);
    if (!reason.empty()) return reason;
  }
  return "";
}

// Flags for an engine with the host's own loops, which are the reference for all devices. The type of activations is
// copied from the engine, because another rounding would give other bits. The reference writes no trace and
// prints nothing.
CommonFlags flags_of_host(const CommonFlags& flags, const Engine& engine) {
  CommonFlags plain = flags;
  plain.engine.plan = "host-only";
  plain.engine.devices = {"host"};
  plain.engine.npu_memory_bytes = 0;
  plain.engine.split.clear();
  plain.act = to_string(*engine.options().act);
  plain.trace.clear();
  plain.verbosity = -1;
  return plain;
}

// Logits after tokens [first, first + count), read in pieces.
Logits logits_behind(Engine& engine, Sequence& text, int64_t first, int64_t count, int64_t piece) {
  fill_context(engine, text, first);
  const auto ids = some_tokens(engine.model().config().vocabulary, first, first + count);
  Logits logits;
  for (int64_t done = 0; done < count; done += piece) {
    const auto length = static_cast<size_t>(std::min(piece, count - done));
    logits = extend(engine, text, std::span(ids).subspan(static_cast<size_t>(done), length), until_interrupted());
  }
  require_finite(engine, logits, first + count - 1);
  return logits;
}

}  // namespace

// A linear congruential generator with Knuth's constants (MMIX) draws the tokens. It starts anew in each call, so a
// token depends on its index alone. The upper bits are taken, because the lower ones have short periods.
std::vector<int32_t> some_tokens(int64_t vocabulary, int64_t begin, int64_t end) {
  std::vector<int32_t> ids;
  uint64_t state = 1;
  for (int64_t i = 0; i < end; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (i >= begin) ids.push_back(static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocabulary)));
  }
  return ids;
}

// All rows use the same endless text, so a text that is long enough is cut and not read again.
void fill_context(Engine& engine, Sequence& text, int64_t depth) {
  if (text.position() < depth)
    extend(engine, text, some_tokens(engine.model().config().vocabulary, text.position(), depth), until_interrupted());
  else
    text.rewind(depth);
}

// Opens a second engine with the host's own loops, and reads the same tokens with both.
Verification verify_against_host(const CommonFlags& flags, Engine& engine) {
  const auto host = open_engine(flags_of_host(flags, engine), {64, 0, 1});
  std::string why = why_tolerance(engine, 0, {std::min(kPromptTokens, engine.sizes().tokens), 1});
  if (why.empty()) why = why_tolerance(*host, 0, {1});
  Verification verification(std::move(why));
  Sequence of_host = host->cache().new_sequence(), text = engine.cache().new_sequence();
  verification.compare(logits_behind(*host, of_host, 0, kPromptTokens, kPromptTokens),
                       logits_behind(engine, text, 0, kPromptTokens, kPromptTokens));
  for (int64_t i = 0; i < kSingleTokens; ++i) {
    verification.compare(logits_behind(*host, of_host, kPromptTokens + i, 1, 1),
                         logits_behind(engine, text, kPromptTokens + i, 1, 1));
  }
  require(verification, name_of(engine) + ", beside host-only");
  return verification;
}

std::vector<float> vector_of_row(Engine& engine, const BenchRow& row) {
  const std::vector<std::vector<int32_t>> text = {some_tokens(engine.model().config().vocabulary, 0, row.n_prompt)};
  EmbedOptions options;
  options.pooling = Pooling::mean;
  options.interrupted = interrupted;
  return std::move(embed(engine, text, options).front());
}

void verify_encoder(const CommonFlags& flags, Engine& engine, std::vector<BenchRow>& rows) {
  EngineNeeds needs;
  needs.context = needs.chunk = engine.sizes().context;
  needs.hidden_states = true;
  const auto host = open_engine(flags_of_host(flags, engine), needs);
  for (BenchRow& row : rows) {
    Verification verification(why_tolerance(engine, 0, {row.n_prompt}));
    verification.compare(vector_of_row(*host, row), vector_of_row(engine, row));
    require(verification, name_of(engine) + ", " + row.test() + " beside host-only");
    row.verification = verification;
  }
}

// A prompt is read again in pieces of kPiece tokens, a short one token by token. Single tokens are read again in
// pieces of kPiece.
Verification verify_row(Engine& engine, Sequence& text, const BenchRow& row, const Verification& with_host) {
  Verification verification = with_host;
  const int64_t timed = row.n_gen == 0 ? row.n_prompt : 1,
                other = row.n_gen == 0 && row.n_prompt <= kPiece ? 1 : kPiece;
  if (row.tokens() > 1) {
    const Logits logits = logits_behind(engine, text, row.n_depth, row.tokens(), timed);
    const Logits again = logits_behind(engine, text, row.n_depth, row.tokens(), other);
    verification.compare(logits, again);
    // Plans depend on the position, so they are asked for where the compared passes began.
    const int64_t most = engine.sizes().tokens;
    const std::string why =
        why_tolerance(engine, row.n_depth, {std::min(timed, most), std::min({other, row.tokens(), most})});
    if (verification.asks_for_bits() && !why.empty()) verification.settle_for_tolerance(why);
  }
  text.rewind(0);
  require(verification, name_of(engine) + ", " + row.test() + " beside the same in pieces of " + std::to_string(other));
  return verification;
}

}  // namespace tandem::app
