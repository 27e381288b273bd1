// Lines of JSON or files as prompts, and answers as lines of JSON. A broken line gets an answer with its error, and the
// others go on.
#include "engine/app/commands/text/many_prompts.h"

#include <cstdio>
#include <new>
#include <utility>

#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/run/serve/spec_modes.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem::app {
namespace {

constexpr const char* kExample =
    R"(A line is {"prompt": "text"}, with "n_predict", "seed", "prediction", "spec", "json_schema" and "grammar" where they differ)";

constexpr int kDeepestLine = 300;  // printing a schema recurses once a level

[[noreturn]] void refuse(const std::string& what) { throw Error("this line is no prompt", what, kExample); }

// The text as the flag of that name would read it. An integer too large for JSON's own numbers has become a fraction by
// now, and is refused.
std::string number_text(const nlohmann::json& value) { return value.is_number_integer() ? value.dump() : ""; }

// Members of a line have the ranges of the flags of the same names, and so have the three below.
int64_t predict_of(const nlohmann::json& value) {
  const auto predict = read_whole(number_text(value), kPredictRange);
  if (!predict) refuse("\"n_predict\" is " + to_string(kPredictRange));
  return *predict;
}

Seed seed_of(const nlohmann::json& value) {
  const auto seed = read_seed(number_text(value));
  if (!seed) refuse(std::string("\"seed\" is ") + kSeedRange);
  return *seed;
}

// One text or several, because OpenAI's API has one and drafts can use more.
std::vector<std::string> predictions_of(const nlohmann::json& value) {
  const nlohmann::json texts = value.is_array() ? value : nlohmann::json::array({value});
  std::vector<std::string> predictions;
  for (const nlohmann::json& text : texts) {
    if (!text.is_string()) refuse("\"prediction\" is a text or a list of texts");
    predictions.push_back(text);
  }
  return predictions;
}

SpecMode spec_of(const nlohmann::json& value) {
  const auto mode = read_spec_mode(value.is_string() ? value.get<std::string>() : "");
  if (!mode) refuse("\"spec\" is none, auto, pld, sam or sdnpu");
  return *mode;
}

}  // namespace

std::string describe(const nlohmann::json& name, const ManyPrompts& many) {
  if (name.contains("file")) return name.at("file");
  return "line " + std::to_string(name.at("line").get<int64_t>()) + " of " + many.lines;
}

// An unknown key is refused, because a misspelt "seed" would otherwise have no effect. A refusal becomes the answer to
// this line, and other lines go on.
PromptLine parse_prompt_line(std::string_view text) {
  const JsonFlaw flaw = json_flaw(text, kDeepestLine);
  if (flaw.kind == JsonFlaw::Kind::syntax) refuse("it is not JSON");
  if (flaw.kind == JsonFlaw::Kind::depth) refuse("its brackets nest deeper than " + std::to_string(kDeepestLine));
  if (flaw.kind == JsonFlaw::Kind::twice) refuse("it has the key \"" + flaw.detail + "\" twice");
  if (flaw.kind == JsonFlaw::Kind::members)
    refuse("it has more than " + std::to_string(kMostJsonMembers) + " keys in one object");
  const auto object = nlohmann::ordered_json::parse(text);  // a schema's members have an order
  if (!object.is_object()) refuse("it is no object");
  PromptLine line;
  for (const auto& [key, value] : object.items()) {
    if (key == "prompt") {
      if (!value.is_string()) refuse("\"prompt\" is no text");
      line.prompt = value;
    } else if (key == "n_predict") {
      line.predict = predict_of(value);
    } else if (key == "seed") {
      line.seed = seed_of(value);
    } else if (key == "prediction") {
      line.predictions = predictions_of(value);
    } else if (key == "spec") {
      line.spec = spec_of(value);
    } else if (key == "json_schema") {
      if (!value.is_object() && !value.is_boolean()) refuse("\"json_schema\" is an object, true or false");
      line.json_schema = value.dump();
    } else if (key == "grammar") {
      if (!value.is_string()) refuse("\"grammar\" is no text");
      line.grammar = value;
    } else {
      refuse("it has the key \"" + key + "\"");
    }
  }
  if (line.json_schema && line.grammar) refuse("it has a \"json_schema\" and a \"grammar\"");
  if (!object.contains("prompt")) refuse("it has no \"prompt\"");
  if (flaw.kind == JsonFlaw::Kind::digits) refuse("\"" + flaw.detail + "\" has a whole number of more than 64 bits");
  return line;
}

Prompts::Prompts(const ManyPrompts& many) : files_(many.files) {
  if (files_.empty()) lines_.emplace(many.lines);
}

// Blank lines are skipped, but they count for the line's number. The number orders the answers, and the name tells the
// user which text is meant. A file is read later, so that a missing one is an answer of its own.
LineReader::Found Prompts::next(Asked& asked, bool may_wait) {
  using enum LineReader::Found;
  if (!lines_) {
    if (asked_ == std::ssize(files_)) return end;
    asked.name = {{"file", files_[static_cast<size_t>(asked_)]}};
  } else {
    do {
      const LineReader::Found found = lines_->next(asked.text, may_wait);
      if (found != line) return found;
      ++line_;
    } while (asked.text.find_first_not_of(" \t\r") == std::string::npos);
    asked.name = {{"line", line_}};
  }
  asked.number = asked_++;
  return line;
}

// A text is waited for only if no other text could run meanwhile. The function in_work() is asked again in each round:
// a text that fails at its begin takes no place.
bool Prompts::fill(int64_t width, const std::function<int64_t()>& in_work,
                   const std::function<void(const Asked&)>& begin) {
  while (in_work() < width) {
    Asked asked;
    const LineReader::Found found = next(asked, in_work() == 0);
    if (found != LineReader::Found::line) return found == LineReader::Found::none_yet;
    begin(asked);
  }
  return true;
}

PromptLine Prompts::parse(const Asked& asked) {
  if (asked.name.contains("line")) return parse_prompt_line(asked.text);
  return {.prompt = read_file(asked.name.at("file"))};
}

// Answers that come too early wait in a map for those before them. The map holds answers whose turn has not come. Its
// first key is never below the next number to print.
void Answers::add(const Prompts::Asked& asked, nlohmann::json answer) {
  answer.update(asked.name);
  if (many_.unordered) return print_json(answer);
  waiting_.emplace(asked.number, std::move(answer));
  for (; waiting_.contains(next_); ++next_) print_json(waiting_.extract(next_).mapped());
}

// A failure takes its turn among the answers like any other. Exceptions of other types are defects of the program, so
// they end the command.
void Answers::fail(const Prompts::Asked& asked, const std::exception_ptr& why) {
  const auto answer = [&](const Error& error) {
    ++failed_;
    std::fprintf(stderr, "tandem: %s: %s\n", describe(asked.name, many_).c_str(), error.what());
    add(asked, error_json(error));
  };
  try {
    std::rethrow_exception(why);
  } catch (const Error& error) {
    answer(error);
  } catch (const std::bad_alloc&) {
    answer(Error("out of memory", "this text", "Take fewer texts at a time (-np), or a smaller --ctx-size"));
  }
}

}  // namespace tandem::app
