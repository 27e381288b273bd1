// `tandem embed`: vectors of texts.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"
#include "tandem/types.h"

namespace CLI {
class Option;
}

namespace tandem::app {

struct EmbedFlags {
  std::optional<Pooling> pooling;
  bool lines = false;   // each line of the text is a text of its own
  bool base64 = false;  // vectors in base64, else as numbers
  bool plain = false;   // vectors keep their length
  int64_t parallel = 8;
};

int embed_command(const CommonFlags& flags, const EmbedFlags& embed);
CLI::Option* add_pooling_flag(CLI::App& app, std::optional<Pooling>& pooling);
void add_embed(CLI::App& app, Action& action);

}  // namespace tandem::app
