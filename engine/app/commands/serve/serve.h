// `tandem serve`: an HTTP server with OpenAI's interface, on the loopback address (docs/server.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/command.h"
#include "engine/app/common_flags.h"
#include "tandem/types.h"

namespace tandem::app {

struct ServeFlags {
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  int64_t parallel = 4;  // texts at a time
  int64_t queue = 256;   // requests that wait for a turn
  std::vector<std::string> aliases, keys, hosts, origins;
  std::string key_file;            // "": none
  bool embeddings = false;         // /v1/embeddings
  std::optional<Pooling> pooling;  // of these; nothing: the model's
  bool no_key = false, no_page = false, any_model = false, lenient = false;
};

// The keys of a file, one a line. Error: it cannot be read, or has none.
std::vector<std::string> keys_of_file(const std::string& path);
// WrongUsage: other machines could ask without a key.
void require_safe(const ServeFlags& flags);

void add_serve(CLI::App& app, Action& action);

}  // namespace tandem::app
