// How long do constraints take: their compilation, and the mask of the tokens that may come next?
//
// For each vocabulary (-m FILE, a model or a vocabulary alone) and each of some schemas and grammars it times the
// compilation, and then writes texts: a token is drawn among the allowed ones, each as likely as the others. A
// model's texts are easier, because their strings end earlier. A step is one mask and the token's acceptance.
// The first text finds out what later texts know; both are shown. Every text is verified: each allowed token is taken,
// and what ended is JSON where a schema made it. The best of five rounds counts for the compilation.
//
// Usage: constraint -m FILE [-m FILE ...] [--texts N]
#include "engine/constraint/constraint.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace {

using namespace tandem;

constexpr int kMostTokens = 300, kRounds = 5;

struct Form {
  std::string name, text;
  bool is_json;
};

// A schema with many properties of five kinds, half of them required.
std::string of_properties(int count) {
  const char* const kinds[] = {R"({"type": "string", "maxLength": 80})", R"({"type": "integer", "minimum": 0})",
                               R"({"type": ["number", "null"]})", R"({"enum": ["red", "green", "blue"]})",
                               R"({"type": "array", "items": {"type": "string"}, "maxItems": 8})"};
  std::string properties, required;
  for (int i = 0; i < count; ++i) {
    const std::string name = "\"property_" + std::to_string(i) + "\"";
    properties += (i ? ", " : "") + name + ": " + kinds[i % 5];
    if (i % 2 == 0) required += (i ? ", " : "") + name;
  }
  return R"({"type": "object", "properties": {)" + properties + R"(}, "required": [)" + required +
         R"(], "additionalProperties": false})";
}

// Forms that cost in different ways: many names, long counts, patterns, recursion, and plain grammars.
std::vector<Form> forms() {
  return {{"any JSON value", "true", true},
          {"100 properties", of_properties(100), true},
          {"strings of 20 to 2,000 characters", R"({"type": "array", "items": {"type": "string", "minLength": 20,
           "maxLength": 2000}})",
           true},
          {"strings by a pattern", R"({"type": "array", "items": {"type": "string",
           "pattern": "^[A-Z][a-z]+( [a-z]+){0,20}\\.$"}})",
           true},
          {"a tree", R"({"type": "object", "properties": {"v": {"anyOf": [{"type": "number"}, {"type": "string"}]},
           "children": {"type": "array", "items": {"$ref": "#"}}}, "required": ["v"]})",
           true},
          {"grammar: words and numbers", "root ::= ([a-zA-Z]+ | [0-9]{1,4}) ([ ,.] root)?", false},
          {"grammar: anything but quotes", "root ::= \"'\" [^'\\n]* \"'\"", false}};
}

std::shared_ptr<const Constraint> compile(const ConstraintMaker& maker, const Form& form) {
  return form.is_json ? maker.json_schema(form.text) : maker.grammar(form.text);
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "constraint: not verified: %s\n", what.c_str());
  std::exit(1);
}

// Adds the microseconds of each step.
void write(const Constraint& constraint, const Tokenizer& tokenizer, bool is_json, std::mt19937& random,
           std::vector<double>& steps) {
  const auto matcher = constraint.state().new_matcher();
  std::string text;
  std::vector<int32_t> allowed;
  for (int i = 0; i < kMostTokens && !matcher->is_complete(); ++i) {
    const double begin = now_seconds();
    const auto mask = matcher->mask();
    const double masked = now_seconds();
    allowed.clear();
    for (size_t word = 0; word < mask.size(); ++word)
      for (uint64_t bits = mask[word]; bits; bits &= bits - 1)
        allowed.push_back(static_cast<int32_t>(64 * word) + std::countr_zero(bits));
    if (allowed.empty()) fail("a dead end behind " + text);
    const int32_t id = allowed[random() % allowed.size()];
    if (tokenizer.is_end(id)) break;
    const double drawn = now_seconds();
    if (!matcher->accept(id)) fail("an allowed token is not taken behind " + text);
    steps.push_back((masked - begin + now_seconds() - drawn) * 1e6);
    text += tokenizer.piece(id, false);
  }
  if (is_json && matcher->may_end() && !nlohmann::json::accept(text)) fail(text + " is no JSON");
}

// The mean, the 99th percentile and the worst step, because a writer waits for the worst.
void print_steps(std::vector<double>& steps) {
  double sum = 0;
  for (const double one : steps) sum += one;
  std::ranges::sort(steps);
  const auto count = static_cast<double>(steps.size());
  std::printf(" %9.1f %9.1f %9.1f |", sum / count, steps[static_cast<size_t>(count * 0.99)], steps.back());
}

// The first text fills caches, so its steps are printed apart from those of later texts.
void time_form(const ConstraintMaker& maker, const Tokenizer& tokenizer, const Form& form, int texts) {
  double best = 1e9;
  std::shared_ptr<const Constraint> constraint;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_seconds();
    constraint = compile(maker, form);
    best = std::min(best, now_seconds() - begin);
  }
  std::mt19937 random(7);
  std::vector<double> first, later;
  write(*constraint, tokenizer, form.is_json, random, first);
  for (int i = 0; i < texts; ++i) write(*constraint, tokenizer, form.is_json, random, later);
  std::printf("%-34s %10.2f |", form.name.c_str(), best * 1e3);
  print_steps(first);
  print_steps(later);
  std::printf(" %6zu\n", later.size());
}

}  // namespace

// Building the maker sorts the vocabulary once for each model, and that time is printed by itself.
int main(int argc, char** argv) {
  CLI::App app("What constraints cost");
  std::vector<std::string> models;
  int texts = 30;
  app.add_option("-m,--model", models, "a GGUF file, with or without weights")->required();
  app.add_option("--texts", texts, "texts of each form behind the first one")->check(CLI::Range(1, 100'000));
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string& path : models) {
      const auto tokenizer = make_tokenizer(GgufFile::open(path));
      const double begin = now_seconds();
      const ConstraintMaker maker(*tokenizer);
      std::printf("%s: %lld tokens, sorted in %.0f ms. All times are measured.\n", path.c_str(),
                  static_cast<long long>(tokenizer->size()), (now_seconds() - begin) * 1e3);
      std::printf("%-34s %10s | %-29s | %-29s | %s\n", "", "", "first text, us a token", "later texts, us a token", "");
      std::printf("%-34s %10s | %9s %9s %9s | %9s %9s %9s | %6s\n", "form", "compile ms", "mean", "p99", "most", "mean",
                  "p99", "most", "tokens");
      for (const Form& form : forms()) time_form(maker, *tokenizer, form, texts);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "constraint: %s\n", error.what());
    return 1;
  }
}
