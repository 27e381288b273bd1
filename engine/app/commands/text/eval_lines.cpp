// `tandem eval --jsonl`: perplexities of many texts that share passes. An answer is a line of JSON, in the order of the
// texts or as they end.
#include "engine/app/commands/text/eval_lines.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/generation.h"
#include "engine/app/commands/text/routing_out.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/run/cache/extension.h"
#include "engine/run/pass/not_finite.h"
#include "engine/run/serve/perplexity.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// A text that is being read, and the sum of what its tokens cost so far.
struct LineText {
  Prompts::Asked asked;
  std::vector<int32_t> ids;
  Sequence sequence;
  LogLikelihood likelihood{};
  std::optional<int64_t> not_finite{};  // first token whose logits are not finite
};

// Evaluates many texts at once. Each pass takes tokens of the texts that began first, and new texts begin
// as others end.
class Evaluation {
 public:
  Evaluation(const CommonFlags& flags, const ManyPrompts& many, Engine& engine)
      : flags_(flags), many_(many), engine_(engine), answers_(many) {}

  // A pass follows every attempt to fill, so texts that have begun do not wait for input that is not there yet.
  void run() {
    Prompts prompts(many_);
    bool more = true;
    while (!interrupted()) {
      more = more && prompts.fill(
                         many_.parallel, [this] { return std::ssize(texts_); },
                         [this](const Prompts::Asked& asked) { begin(asked); });
      if (!texts_.empty()) pass();
      if (texts_.empty() && !more) break;
    }
  }
  int64_t failed() const { return answers_.failed(); }
  int64_t texts() const { return evaluated_ + failed(); }

  // Speed counts the tokens of texts that were read to the end.
  void print_summary(double seconds) const {
    std::fprintf(
        stderr, "evaluated %lld texts of %lld tokens, %.1f tokens/s (measured); %lld failed; device %s; plan %s\n",
        static_cast<long long>(evaluated_), static_cast<long long>(tokens_), per_second(tokens_, seconds),
        static_cast<long long>(failed()), engine_.machine().device_names().c_str(), engine_.plans().name().c_str());
  }

 private:
  // A text that cannot be read, is too short or too long becomes an answer with its error.
  void begin(const Prompts::Asked& asked) {
    try {
      std::vector<int32_t> ids = prompt_ids(flags_, Prompts::parse(asked).prompt, engine_.model().tokenizer());
      require_two_tokens(ids, "the text");
      check_ids(ids, 0, engine_.model().config().vocabulary, engine_.sizes().context);
      texts_.push_back({asked, std::move(ids), engine_.cache().new_sequence()});
    } catch (const Error&) {
      answers_.fail(asked, std::current_exception());
    }
  }

  // Takes as many tokens as fit in a pass, from the texts that began first. All tokens get logits.
  void pass() {
    std::vector<Extension> extensions;
    int64_t room = engine_.sizes().tokens;
    for (LineText& text : texts_) {
      if (room == 0) break;
      // The position is the number of tokens that have run, so it is also where the rest begins.
      const auto rest = std::span(text.ids).subspan(static_cast<size_t>(text.sequence.position()));
      const int64_t some = std::min(std::ssize(rest), room);
      extensions.push_back({&text.sequence, rest.first(static_cast<size_t>(some)), some});
      room -= some;
    }
    const Logits of_pass = engine_.extend(extensions);
    std::span<const float> logits = of_pass;
    // Extension i belongs to text i, because the loop above took texts from the front. Logits lie in this order.
    for (size_t i = 0; i < extensions.size(); ++i) logits = take(texts_[i], extensions[i].logit_rows, logits);
    fail_not_finite();
    // end() erases the text, so the loop runs backwards and no index shifts.
    for (size_t i = texts_.size(); i-- > 0;)
      if (texts_[i].sequence.position() == std::ssize(texts_[i].ids)) end(i);
  }

  // Must run before the next pass: the begin of such numbers is found by running this pass again.
  void fail_not_finite() {
    for (const LineText& text : texts_)
      if (text.not_finite) answers_.fail(text.asked, std::make_exception_ptr(engine_.not_finite(*text.not_finite)));
    std::erase_if(texts_, [](const LineText& text) { return text.not_finite.has_value(); });
  }

  // Scores the `count` tokens of this pass against the tokens that follow them. Returns the logits of the next text.
  // Row s predicts token s + 1. The last token predicts nothing that is known. A text that is not finite is marked here
  // and removed later, because the rows of the other texts still follow.
  std::span<const float> take(LineText& text, int64_t count, std::span<const float> logits) {
    const auto V = static_cast<size_t>(engine_.model().config().vocabulary);
    for (int64_t at = text.sequence.position() - count; at < text.sequence.position(); ++at) {
      if (!text.not_finite && !all_finite(logits.first(V))) text.not_finite = at;
      if (at + 1 < std::ssize(text.ids)) {
        text.likelihood.negative_log_sum +=
            negative_log_likelihood(logits.first(V), text.ids[static_cast<size_t>(at + 1)]);
        ++text.likelihood.tokens;
      }
      logits = logits.subspan(V);
    }
    return logits;
  }

  // The answer repeats device, plan and act, so a line by itself says what its numbers are about.
  void end(size_t index) {
    const LineText& text = texts_[index];
    answers_.add(text.asked, {{"n_tokens", text.ids.size()},
                              {"perplexity", text.likelihood.perplexity()},
                              {"mean_nll", text.likelihood.mean()},
                              {"nll_tokens", text.likelihood.tokens},
                              {"device", engine_.machine().device_names()},
                              {"plan", engine_.plans().name()},
                              {"act", to_string(*engine_.options().act)}});
    ++evaluated_;
    tokens_ += std::ssize(text.ids);
    texts_.erase(texts_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  const CommonFlags& flags_;
  const ManyPrompts& many_;
  Engine& engine_;
  Answers answers_;
  std::vector<LineText> texts_;
  int64_t evaluated_ = 0, tokens_ = 0;
};

}  // namespace

// Every token of a pass may need logits, so the engine has room for as many rows of logits as tokens. Texts that fail
// do not end the command. They only decide its exit status.
int eval_many_command(const CommonFlags& flags, const ManyPrompts& many) {
  apply_verbosity(flags);
  EngineNeeds needs;
  needs.sequences = many.parallel;
  needs.chunk = kDefaultChunk;
  needs.logit_rows = flags.engine.chunk > 0 ? flags.engine.chunk : needs.chunk;
  const auto engine = open_engine(flags, needs);
  print_notes(flags, *engine);
  TraceFile trace(flags, *engine);
  RoutingOut routing(flags, *engine);
  Evaluation evaluation(flags, many, *engine);
  const double start = now_seconds();
  evaluation.run();
  trace.finish();
  routing.finish();
  if (evaluation.texts() == 0 && !interrupted())
    throw Error("there is nothing to score", many.lines.empty() ? "no file" : many.lines, "Give at least one prompt");
  if (!flags.quiet()) evaluation.print_summary(now_seconds() - start);
  print_near_memory(flags, *engine);
  print_expert_store(flags, *engine);
  return interrupted() ? kInterrupted : evaluation.failed() > 0 ? kFailed : kDone;
}

}  // namespace tandem::app
