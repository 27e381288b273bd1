// Passes of a server as server-sent events (docs/server.md, `GET /tandem/timeline`).
//
// Contract: pure. Times in events are microseconds. An event has measured times or modelled ones, never both.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/run/serve/pass_watch.h"

namespace tandem::serve {

struct WatchedServer {
  std::string model, version;
  std::vector<std::string> lanes;  // devices, in the order of their rows
  int64_t width = 0, context = 0;
};

struct NumberedPass {
  int64_t number = 0;
  PassRecord record;
};

// The texts of a server, beside its passes.
struct WatchedLoad {
  int64_t waiting = 0, active = 0;
  double tokens_per_second = 0;  // of the last second
};

// One pass on the clock of a described chip.
struct ChipStep {
  int lane = 0;  // index in ChipPass::lanes
  std::string kind, name;
  double start_seconds = 0, end_seconds = 0;
};
struct ChipPass {
  double seconds = 0, joules = 0;
  std::vector<std::string> lanes;
  std::vector<ChipStep> steps;
};

// The clock of a described chip for passes of one text; empty: no chip was asked for. Called on the feed's thread.
struct ChipClock {
  std::string soc, plan;  // names of the chip and of its plan
  std::function<ChipPass(int64_t tokens, int64_t position)> pass{};
};

std::string event_text(const std::string& name, const std::string& data);  // "event: NAME\ndata: DATA\n\n"
std::string server_event(const WatchedServer& server, const ChipClock& chip);
// origin: the time that counts as 0.
nlohmann::ordered_json pass_json(const NumberedPass& pass, double origin_seconds);
// passes_json(): of several of them, without the brackets of the list, as one client after another gets it.
std::string passes_json(const std::vector<NumberedPass>& passes, double origin_seconds);
// lost: passes that this client did not get since the last event.
std::string passes_event(const std::string& passes_json, const WatchedLoad& load, int64_t lost);
std::string modelled_event(const ChipClock& chip, int64_t number, int64_t tokens, int64_t position,
                           const ChipPass& pass);

}  // namespace tandem::serve
