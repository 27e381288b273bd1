#include "engine/serve/api/embeddings.h"

#include <utility>

#include "engine/run/serve/vector_text.h"

namespace tandem::serve {
namespace {

// A text, a list of texts, a list of ids, or a list of lists of ids.
std::vector<Ask::Prompt> read_input(Fields& fields, int64_t vocabulary) {
  const Json* input = fields.find("input");
  const std::string expected = "a text, a list of texts, a list of token ids below " + std::to_string(vocabulary) +
                               ", or a list of such lists, at most " + std::to_string(kMostEmbeddings) + " texts";
  const auto ids = [&](const Json& list) {
    auto found = token_ids(list, vocabulary);
    if (!found || found->empty()) fields.refuse("input", expected);
    return Ask::Prompt{"", std::move(*found)};
  };
  if (input == nullptr) fields.refuse("input", expected);
  const auto text = [&](const Json& one) {
    if (one.get_ref<const std::string&>().empty()) fields.refuse("input", "no empty text");
    return Ask::Prompt{one.get<std::string>()};
  };
  if (input->is_string()) return {text(*input)};
  if (!input->is_array() || input->empty()) fields.refuse("input", expected);
  if (input->front().is_number()) return {ids(*input)};
  if (input->size() > kMostEmbeddings) fields.refuse("input", expected);
  std::vector<Ask::Prompt> texts;
  for (const Json& each : *input) {
    if (each.is_string())
      texts.push_back(text(each));
    else
      texts.push_back(ids(each));
  }
  return texts;
}

}  // namespace

// Reads /v1/embeddings. Clients of OpenAI ask for base64 by default, because it is shorter than numbers in decimal.
EmbeddingAsk read_embeddings(const Json& body, const AskRules& rules, int64_t width) {
  Fields fields(body);
  EmbeddingAsk ask;
  ask.model = fields.text("model");
  ask.texts = read_input(fields, rules.vocabulary);
  const std::string format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") fields.refuse("encoding_format", "\"float\" or \"base64\"");
  ask.base64 = format == "base64";
  // A shorter vector is another one unless the model was trained for it, and a file does not say that.
  if (fields.whole("dimensions", 1, INT32_MAX).value_or(width) != width)
    fields.refuse("dimensions", std::to_string(width) + ", the width of this model's vectors, or absent");
  ask.ignored = fields.finish({"user"}, rules.lenient);
  return ask;
}

// The index repeats the order of the texts, as clients expect it.
Json embeddings_answer(const std::vector<std::vector<float>>& vectors, bool base64, const std::string& model,
                       int64_t tokens) {
  Json data = Json::array();
  for (const std::vector<float>& vector : vectors) {
    Json embedding = Json::array();
    if (base64)
      embedding = base64_of(vector);
    else
      for (const float value : vector) embedding.push_back(written_double(value));
    data.push_back({{"object", "embedding"}, {"index", data.size()}, {"embedding", std::move(embedding)}});
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

}  // namespace tandem::serve
