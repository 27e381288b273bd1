// Common parts of the bench programs that time whole engines: the model, its tokens, one pass, and the check that comes
// before any timing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/run/engine.h"
#include "engine/run/serve/extend.h"

namespace CLI {
class App;
}

namespace tandem::bench {

std::string default_model();  // TANDEM_MODEL, else the model that `./dev run` fetched
void require_model(const std::string& path);
std::vector<int32_t> some_ids(int64_t vocabulary, int64_t count);

double time_prompt(Engine& engine, std::span<const int32_t> ids);  // seconds, in a new text
// Seconds of one token after the first `context` ids: the mean over the remaining ids, one at a time.
double time_decode(Engine& engine, std::span<const int32_t> ids, int64_t context);

// Calls run(i, counts) for each i < count in turn, in `rounds` rounds that count after one that does not. Each round
// begins with another i.
void take_turns(size_t count, int rounds, const std::function<void(size_t i, bool counts)>& run);

// Error unless all engines give the same bits after these ids and after one more token.
void verify_equal(std::span<const std::unique_ptr<Engine>> engines, std::span<const int32_t> ids);

// Options of the programs that time prompts of several lengths.
struct EngineBenchOptions {
  std::string model = default_model();
  std::vector<int64_t> lengths;      // tokens of the prompts
  std::vector<std::string> devices;  // ids; empty: the engine's choice
  int64_t chunk = 0;                 // the most tokens of a pass
  int rounds = 1;
  bool json = false;
};
void add_flags(CLI::App& app, EngineBenchOptions& options);

// Parses the command line, runs, and turns an Error into a message and status 1. Log lines go to standard error, at the
// level of TANDEM_LOG.
int bench_main(CLI::App& app, int argc, char** argv, const std::function<int()>& run);

}  // namespace tandem::bench
