// S4, M4: chooses the drafts of a pass, and learns from what the texts became.
//
// A text's drafts stand behind its newest token: as a chain, or as a tree where branches are worth it. A chain is a
// piece of text whose tokens all get logits. Drafts of all texts share one ranking and one pass. The caller runs the
// pass and accepts tokens.
//
// Contract: Threads: the orchestrator's. Ownership: borrows the engine and the texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/run/choice/pass_times.h"
#include "engine/run/engine.h"
#include "engine/run/serve/text_speculation.h"

namespace tandem {

class Speculation {
 public:
  explicit Speculation(Engine& engine) : engine_(engine) {}

  // Why a text with these options gets no drafts. Empty: it may get some.
  std::string refusal(const SpecOptions& options) const;
  struct Text {
    TextSpeculation* speculation;  // null: the text gets no drafts
    int64_t position;              // tokens before its newest token
    int64_t room;                  // most drafts that the text can use
  };
  // Sets the drafts of these texts, which have one token each in the next pass. rows: most tokens that get logits.
  void choose(std::span<const Text> texts, int64_t rows);
  // A pass of these texts, with the drafts that were chosen, took so long. Called before their take_verdict().
  void learn(std::span<const Text> texts, double seconds);
  Engine& engine() const { return engine_; }

 private:
  // The texts of a pass, and what it has without the drafts that M4 chooses.
  struct Choice {
    std::span<const Text> texts;
    PassBase base;
    int64_t most = 0;  // drafts beside the base
    int64_t position = 0;
  };
  using Drafts = TokenTree TextSpeculation::*;  // the chains or the trees of the texts
  struct RankedDraft {
    double weight;
    size_t text;
  };
  // The best pass with drafts of this form.
  struct Form {
    Drafts drafts;
    PassBase base;
    std::vector<int64_t> counts;   // drafts of each text, in a width that is open
    double rate = 0, seconds = 0;  // tokens a second, and the time of the pass
    int64_t wished = 0;            // drafts in any width
    double wished_rate = 0;
  };
  static bool chooses(const Text& text) { return text.speculation && text.speculation->mode_ == SpecMode::automatic; }
  bool takes_trees() const;
  bool chooses_trees() const;
  void propose_by_model(const Text& of, const PassBase& base, int64_t rows) const;
  int64_t take_all(TextSpeculation& text, int64_t room) const;
  int64_t allowed_drafts(const TextSpeculation& text, std::span<const double> seconds, int64_t texts) const;
  void find_chains(const Choice& choice, std::span<const double> seconds) const;
  void find_trees(const Choice& choice, std::span<const double> seconds) const;
  static std::vector<RankedDraft> ranked(const Choice& choice, Drafts drafts);
  // possible: the times of passes with this base, in any width.
  Form form_of(const Choice& choice, Drafts drafts, const PassBase& base, std::span<const double> possible) const;
  static bool may_gain_by_trees(const Choice& choice, const Form& chains, std::span<const double> seconds);
  void add_wish(const Form& taken, const Form& other);

  PassTimes& times() const { return engine_.plans().times(); }
  Engine& engine_;
};

}  // namespace tandem
