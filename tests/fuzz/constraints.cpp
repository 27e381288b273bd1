// Schemas and grammars, any bytes, and a text by each that is accepted: it never gets stuck, and one by a schema
// is JSON.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>

#include "engine/constraint/constraint.h"
#include "sync/error.h"
#include "tests/engine/constraint/toy_tokenizer.h"
#include "tests/engine/constraint/walks.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

constexpr size_t kMostBytes = 4000;
constexpr int kMostTokens = 60;

const testing::ToyTokenizer& tokenizer() {
  static const testing::ToyTokenizer toy;
  return toy;
}

const ConstraintMaker& maker() {
  static const ConstraintMaker made(tokenizer());
  return made;
}

std::string_view schema_or_grammar(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), std::min(input.size(), kMostBytes)};
}

}  // namespace

void json_schema(Bytes input) {
  try {
    const auto form = maker().json_schema(schema_or_grammar(input));
    std::mt19937 random(static_cast<uint32_t>(input.size()));
    if (const auto text = testing::written(*form, tokenizer(), random, kMostTokens))
      must_hold(nlohmann::json::accept(*text), "a text by a schema is JSON: " + *text);
  } catch (const Error&) {
  }
}

void grammar(Bytes input) {
  try {
    const auto form = maker().grammar(schema_or_grammar(input));
    std::mt19937 random(static_cast<uint32_t>(input.size()));
    testing::written(*form, tokenizer(), random, kMostTokens);
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
