// Reports what drafts did for a text, as JSON and as a line. It also says once why a text had none, because a user who
// asked for drafts would otherwise wait for them.
#include "engine/app/commands/text/draft_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "engine/app/commands/text/generation.h"

namespace tandem::app {
namespace {

// For people: "31, as nothing matched".
const char* explained(NoDrafts why) {
  switch (why) {
    case NoDrafts::no_match:
      return "nothing matched";
    case NoDrafts::no_gain:
      return "they would not pay";
    case NoDrafts::new_width:
      return "a first pass of their width would not pay";
    case NoDrafts::no_budget:
      return "earlier ones had lost time";
    case NoDrafts::no_room:
      return "the text had no room for them";
    case NoDrafts::prompt:
      return "another text's prompt was read";
  }
  return "";
}

// Two digits behind the point are enough for rates and milliseconds.
std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string share(int64_t accepted, int64_t drafts) {
  return std::to_string(accepted) + " of " + std::to_string(drafts);
}

// Joins the entries of a map with commas.
template <typename Map, typename Describe>
std::string listed(const Map& map, const Describe& describe) {
  std::string list;
  for (const auto& [key, value] : map) list += (list.empty() ? "" : ", ") + describe(key, value);
  return list;
}

double ms_a_token(const Generation& g) {
  const int64_t tokens = decoded_tokens(g);
  return tokens > 0 ? g.predicted_seconds * 1e3 / static_cast<double>(tokens) : 0;
}

}  // namespace

// Tokens of the text over the passes that wrote it. Without drafts it is 1.
double tokens_a_pass(const Generation& g) {
  return g.predicted_passes > 0 ? static_cast<double>(decoded_tokens(g)) / static_cast<double>(g.predicted_passes) : 0;
}

// The drafts of one text: accepted ones by source, the time of passes by their width, and why passes had none.
nlohmann::json drafts_json(const Generation& g, const SpecOptions& spec) {
  nlohmann::json sources = nlohmann::json::object(), passes = sources, plain_passes = sources;
  for (const auto& [name, source] : g.drafts.sources)
    sources[name] = {{"drafts", source.drafts}, {"accepted", source.accepted}};
  for (const auto& [tokens, seconds] : g.drafts.pass_seconds) passes[std::to_string(tokens)] = seconds * 1e3;
  for (const auto& [why, count] : g.drafts.plain_passes) plain_passes[to_string(why)] = count;
  return {{"mode", to_string(spec.mode)},
          {"why_none", g.drafts.why_none},
          {"tokens_a_pass", tokens_a_pass(g)},
          {"ms_a_token", ms_a_token(g)},
          {"tree_passes", g.drafts.tree_passes},
          {"plain_passes", std::move(plain_passes)},
          {"sources", std::move(sources)},
          {"clock", "measured"},
          {"pass_ms", std::move(passes)},
          {"runs", {{"found", g.drafts.runs}, {"right", g.drafts.right_runs}}},
          {"checked", g.drafts.checked},
          {"model",
           {{"passes", g.drafts.model.passes},
            {"ms", g.drafts.model.seconds * 1e3},
            {"prompt_ms", g.drafts.model.prompt_seconds * 1e3},
            {"problem", g.drafts.model.problem}}}};
}

// The same in one line for people. The reasons of passes without drafts come last, since they are the longest part.
std::string drafts_line(const Generation& g, SpecMode mode) {
  const DraftTotals& drafts = g.drafts;
  std::string line = std::string("drafts (") + to_string(mode) + "): ";
  if (!drafts.why_none.empty()) return line + "none: " + drafts.why_none;
  using Source = DraftTotals::Source;
  const std::string sources = listed(drafts.sources, [](const std::string& name, const Source& source) {
    return name + " " + share(source.accepted, source.drafts);
  });
  line += drafts.drafts > 0 ? share(drafts.accepted, drafts.drafts) + " accepted (" + sources + ")" : "none";
  line += ", " + fixed(tokens_a_pass(g)) + " tokens a pass, " + fixed(ms_a_token(g)) + " ms a token";
  if (!drafts.pass_seconds.empty())
    line += "; passes of so many tokens: " + listed(drafts.pass_seconds, [](int64_t tokens, double seconds) {
              return std::to_string(tokens) + " in " + fixed(seconds * 1e3) + " ms";
            });
  line += " (measured)";
  if (!drafts.plain_passes.empty())
    line += "; passes without drafts: " + listed(drafts.plain_passes, [](NoDrafts why, int64_t passes) {
              return std::to_string(passes) + ", as " + explained(why);
            });
  return line;
}

// Each note appears once, however many texts it holds for.
void DraftNotes::print(const std::string& note) {
  if (!flags_.quiet() && printed_.insert(note).second) std::fprintf(stderr, "note: %s\n", note.c_str());
}

// Drafts change the other tokens of a pass. On devices whose bits depend on those, that must be known.
void DraftNotes::explain(SpecMode mode, const Engine& engine) {
  if (mode == SpecMode::none || !engine.contract().bits_depend_on_passes) return;
  const std::string what = mode == SpecMode::automatic ? "no drafts are used" : "drafts may change the text";
  print(what + ": a token's bits depend on the other tokens of its pass (--spec)");
}

void DraftNotes::explain_draft_model(const Generation& g) {
  if (!g.drafts.model.problem.empty()) print("the text went on without the draft model: " + g.drafts.model.problem);
}

void DraftNotes::explain_history(const std::string& problem) {
  if (!problem.empty()) print("the text was not kept in the history: " + problem);
}

}  // namespace tandem::app
