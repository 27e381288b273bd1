// Events as JSON texts. A pass is written once and shared by all clients, and only the small head of an event differs
// from client to client.
#include "engine/serve/timeline/events.h"

#include <algorithm>
#include <cmath>

#include "sync/json_text.h"

namespace tandem::serve {
namespace {

using Json = nlohmann::ordered_json;

// More steps of a pass are left out, so that an event stays below what is kept for a client.
constexpr size_t kMostSteps = 6000;

int64_t microseconds(double seconds) { return std::llround(seconds * 1e6); }
double tenths(double seconds) { return std::round(seconds * 1e7) / 10; }  // of microseconds

// Steps name their lanes by numbers, since each name would be repeated hundreds of times.
int64_t index_of(std::vector<std::string>& lanes, const std::string& lane) {
  const auto found = std::ranges::find(lanes, lane);
  if (found != lanes.end()) return found - lanes.begin();
  lanes.push_back(lane);
  return std::ssize(lanes) - 1;
}

// [lane, kind, name, begin, length], times from the begin of the pass. Whole steps are few words, because a pass has
// hundreds of them.
Json step_json(int64_t lane, const std::string& kind, const std::string& name, double begin, double length) {
  return Json::array({lane, kind, name, tenths(begin), tenths(length)});
}

Json text_json(const PassRecord::Text& text) {
  return {{"name", text.label},
          {"kind", text.is_prompt ? "prompt" : "answer"},
          {"tokens", text.tokens},
          {"position", text.position}};
}

// Spans on a chip's own clock are modelled, and no part of a measured pass.
void add_steps(const PassRecord& record, Json& json) {
  std::vector<std::string> lanes;
  Json steps = Json::array();
  for (const Span& span : record.spans) {
    if (span.modelled || span.device.empty()) continue;
    if (steps.size() == kMostSteps) {
      json["is_cut"] = true;
      break;
    }
    steps.push_back(step_json(index_of(lanes, span.device),
                              span.kind == SpanKind::several ? kSeveral : class_of(span.kind), span.name,
                              span.start_seconds - record.start_seconds, span.end_seconds - span.start_seconds));
  }
  json["lanes"] = lanes;
  json["steps"] = std::move(steps);
}

}  // namespace

std::string event_text(const std::string& name, const std::string& data) {
  return "event: " + name + "\ndata: " + data + "\n\n";
}

std::string server_event(const WatchedServer& server, const ChipClock& chip) {
  Json json = {{"version", 1},
               {"clock", "measured"},
               {"model", server.model},
               {"program", server.version},
               {"lanes", server.lanes},
               {"texts_at_a_time", server.width},
               {"context", server.context},
               {"soc", nullptr}};
  if (chip.pass) json["soc"] = {{"name", chip.soc}, {"plan", chip.plan}};
  return event_text("server", json_line(json));
}

// Times count from the feed's own beginning, so they stay small numbers. Steps are there only for passes that were
// recorded with them.
Json pass_json(const NumberedPass& pass, double origin_seconds) {
  const PassRecord& record = pass.record;
  Json json = {{"number", pass.number},
               {"begin", microseconds(record.start_seconds - origin_seconds)},
               {"length", microseconds(record.end_seconds - record.start_seconds)},
               {"plan", record.plan},
               {"tokens", record.tokens()},
               {"written", record.written},
               {"pages", record.used_pages},
               {"all_pages", record.pages},
               {"texts", Json::array()}};
  for (const PassRecord::Text& text : record.texts) json["texts"].push_back(text_json(text));
  if (record.has_steps) add_steps(record, json);
  return json;
}

std::string passes_json(const std::vector<NumberedPass>& passes, double origin_seconds) {
  std::string text;
  for (const NumberedPass& pass : passes)
    text += (text.empty() ? "" : ",") + json_line(pass_json(pass, origin_seconds));
  return text;
}

// Joins texts, because parsing and printing the shared part anew for each client would cost more than making it.
std::string passes_event(const std::string& passes_json, const WatchedLoad& load, int64_t lost) {
  const Json head = {{"lost", lost},
                     {"waiting", load.waiting},
                     {"active", load.active},
                     {"tokens_per_second", std::round(load.tokens_per_second * 10) / 10}};
  std::string text = json_line(head);
  text.pop_back();  // its last bracket
  return event_text("passes", text + ",\"passes\":[" + passes_json + "]}");
}

// Names its clock, as every event with modelled times does, so a page cannot mix the two.
std::string modelled_event(const ChipClock& chip, int64_t number, int64_t tokens, int64_t position,
                           const ChipPass& pass) {
  Json steps = Json::array();
  for (const ChipStep& step : pass.steps)
    steps.push_back(
        step_json(step.lane, step.kind, step.name, step.start_seconds, step.end_seconds - step.start_seconds));
  const Json json = {{"clock", "modelled"},
                     {"soc", chip.soc},
                     {"plan", chip.plan},
                     {"number", number},
                     {"tokens", tokens},
                     {"position", position},
                     {"length", microseconds(pass.seconds)},
                     {"joules", pass.joules},
                     {"lanes", pass.lanes},
                     {"steps", std::move(steps)}};
  return event_text("modelled", json_line(json));
}

}  // namespace tandem::serve
