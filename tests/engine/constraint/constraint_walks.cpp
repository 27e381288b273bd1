// Writes texts for schemas at random, and reads valid ones in random tokenisations: the C++ side of
// random_schemas_test.py. Reads {"schema", "valid": [texts], "write": n} a line, and answers {"written": [texts],
// "refused": [[text, place]]} or {"error"} a line.
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "sync/error.h"
#include "tests/engine/constraint/toy_tokenizer.h"
#include "tests/engine/constraint/walks.h"

namespace {

using Json = nlohmann::ordered_json;

Json answer(const Json& asked, const tandem::ConstraintMaker& maker, const tandem::Tokenizer& tokenizer,
            std::mt19937& random) {
  constexpr int kMostTokens = 250;
  try {
    const auto form = maker.json_schema(asked.at("schema").dump());
    Json answer = {{"written", Json::array()}, {"refused", Json::array()}};
    for (int i = 0; i < asked.at("write").get<int>(); ++i)
      if (const auto text = tandem::testing::written(*form, tokenizer, random, kMostTokens))
        answer["written"].push_back(*text);
    for (const std::string text : asked.at("valid"))
      if (const int64_t place = tandem::testing::first_refused(*form, tokenizer, text, random); place >= 0)
        answer["refused"].push_back({text, place});
    return answer;
  } catch (const tandem::Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main() {
  const tandem::testing::ToyTokenizer tokenizer;
  const tandem::ConstraintMaker maker(tokenizer);
  std::mt19937 random(1);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line), maker, tokenizer, random).dump(-1, ' ', true, Json::error_handler_t::replace)
              << '\n';
}
