#include "engine/app/commands/text/draft_flags.h"

#include <CLI/CLI.hpp>
#include <string>

namespace tandem::app {

// The baselines draft by rules of their own alone.
void require_used_drafts(const CommonFlags& flags) {
  const SpecOptions& spec = flags.generate.spec;
  if (spec.check && spec.mode == SpecMode::none) throw CLI::ExcludesError("--spec-check", "--spec none");
  const bool takes_models = spec.mode == SpecMode::automatic || spec.mode == SpecMode::sdnpu;
  if (!flags.draft_model.empty() && !takes_models)
    throw CLI::ExcludesError("--draft-model", std::string("--spec ") + to_string(spec.mode));
}

}  // namespace tandem::app
