// Reads requests for texts. Each member has its range here, and a value outside is refused by the member's name.
// Readers also record what they ask for, which is how /openapi.json is made.
#include "engine/serve/api/ask.h"

#include <charconv>
#include <limits>
#include <utility>

#include "engine/serve/http/access.h"
#include "engine/serve/openai/messages.h"

namespace tandem::serve {
namespace {

constexpr int64_t kMostTokensOfAsk = std::numeric_limits<int32_t>::max();
// Members without an effect on a text here.
const std::set<std::string> kHarmless = {"user",
                                         "metadata",
                                         "store",
                                         "service_tier",
                                         "safety_identifier",
                                         "prompt_cache_key",
                                         "cache_prompt",
                                         "prompt_cache_retention"};
// OpenAI's members for what this server does not do. Clients may send them as null.
const std::set<std::string> kNullOfCompletions = {"suffix"};
const std::set<std::string> kNullOfChats = {"audio",     "function_call", "functions",        "prediction",
                                            "reasoning", "verbosity",     "reasoning_effort", "web_search_options"};

// A text can keep one form: any JSON object, a schema, or a grammar. The schema has three spellings, of OpenAI and of
// llama.cpp, and giving two forms at once is refused.
void read_form(Fields& fields, Ask& ask) {
  if (const Json* format = fields.find("response_format")) {
    if (!format->is_object()) fields.refuse("response_format", "an object");
    Fields form(*format, "response_format");
    const std::string type = form.text("type").value_or("");
    if (type == "json_object") {
      const Json* schema = form.find("schema");  // as llama.cpp has it
      if (schema) ask.json_schema = schema->dump();
      ask.json_object = !schema;
    } else if (type == "json_schema") {
      const Json* named = form.find("json_schema");
      if (!named || !named->is_object()) form.refuse("json_schema", "an object with \"schema\"");
      Fields inner(*named, "response_format.json_schema");
      inner.text("name");
      inner.text("description");
      inner.flag("strict");
      const Json* schema = inner.find("schema");
      if (!schema) inner.refuse("schema", "a JSON schema");
      ask.json_schema = schema->dump();
      inner.finish({}, false);
    } else if (type != "text") {
      form.refuse("type", "text, json_object or json_schema");
    }
    form.finish({}, false);
  }
  ask.grammar = fields.text("grammar");
  if (const Json* schema = fields.find("json_schema")) {
    if (ask.json_schema) fields.refuse("json_schema", "absent, where another form of the text is asked for");
    ask.json_schema = schema->dump();
  }
  if ((ask.json_object ? 1 : 0) + (ask.json_schema ? 1 : 0) + (ask.grammar ? 1 : 0) > 1)
    fields.refuse("grammar", "absent, where another form of the text is asked for");
}

// {"42": -100}: token ids and what is added to their logits. JSON has texts as names, so ids are read from texts, and
// anything beside the digits is refused.
std::vector<std::pair<int32_t, float>> read_bias(Fields& fields, int64_t vocabulary) {
  const Json* object = fields.find("logit_bias");
  std::vector<std::pair<int32_t, float>> bias;
  if (!object) return bias;
  const std::string expected =
      "an object of token ids below " + std::to_string(vocabulary) + " and numbers from -100 to 100";
  if (!object->is_object()) fields.refuse("logit_bias", expected);
  for (const auto& [name, value] : object->items()) {
    int32_t id = -1;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), id);
    const bool is_id = problem == std::errc() && end == name.data() + name.size() && id >= 0 && id < vocabulary;
    const double added = value.is_number() ? value.get<double>() : 1000;
    if (!is_id || !(added >= -100 && added <= 100)) fields.refuse("logit_bias", expected);
    bias.emplace_back(id, static_cast<float>(added));
  }
  return bias;
}

// The server's own options are the defaults, and a request replaces some of them. A seed of -1 means any, as
// with llama.cpp.
void read_sampling(Fields& fields, const AskRules& rules, Ask& ask) {
  ask.options = rules.usual;
  SamplerOptions& sampler = ask.options.sampler;
  const auto take = [](auto& field, const auto& value) {
    if (value) field = static_cast<std::remove_reference_t<decltype(field)>>(*value);
  };
  take(sampler.temperature, fields.number("temperature", 0, 2));
  take(sampler.top_p, fields.number("top_p", 0, 1));
  take(sampler.top_k, fields.whole("top_k", 0, std::numeric_limits<int>::max()));
  take(sampler.min_p, fields.number("min_p", 0, 1));
  take(sampler.repeat_penalty, fields.number("repeat_penalty", 0.01, 100));
  take(sampler.presence_penalty, fields.number("presence_penalty", -2, 2));
  take(sampler.frequency_penalty, fields.number("frequency_penalty", -2, 2));
  sampler.logit_bias = read_bias(fields, rules.vocabulary);
  take(ask.options.ignore_end, fields.flag("ignore_eos"));
  if (const auto seed = fields.whole("seed", -1, std::numeric_limits<int64_t>::max()); seed && *seed >= 0)
    ask.seed = static_cast<uint64_t>(*seed);
  ask.options.stop = fields.texts("stop", kMostStops);
}

// Members that completions and chats share. Options of a stream without a stream would have no effect, so they
// are refused.
void read_common(Fields& fields, const AskRules& rules, Ask& ask) {
  ask.model = fields.text("model");
  read_sampling(fields, rules, ask);
  read_form(fields, ask);
  ask.choices = fields.whole("n", 1, kMostChoices).value_or(1);
  ask.is_stream = fields.flag("stream").value_or(false);
  if (const Json* options = fields.find("stream_options")) {
    if (!options->is_object() || !ask.is_stream)
      fields.refuse("stream_options", "an object, and absent without \"stream\": true");
    Fields of_stream(*options, "stream_options");
    ask.include_usage = of_stream.flag("include_usage").value_or(false);
    of_stream.finish({"include_obfuscation"}, rules.lenient);
  }
}

// Ids are checked against the vocabulary here, since the engine takes them as they are.
Ask::Prompt read_ids(const Json& list, const AskRules& rules, const Fields& fields) {
  auto ids = token_ids(list, rules.vocabulary);
  if (!ids) fields.refuse("prompt", "a text, a list of texts, or token ids below " + std::to_string(rules.vocabulary));
  return {"", std::move(*ids)};
}

// The four forms of a prompt: a text, a list of texts, a list of ids, or a list of lists of ids. The first value of a
// list decides whether it is one prompt of ids or several prompts.
void read_prompts(Fields& fields, const AskRules& rules, Ask& ask) {
  const Json* prompt = fields.find("prompt");
  const std::string expected = "a text, a list of texts, a list of token ids, or a list of such lists, at most " +
                               std::to_string(kMostPrompts) + " prompts";
  if (!prompt) fields.refuse("prompt", expected);
  if (prompt->is_string()) {
    ask.prompts.push_back({prompt->get<std::string>()});
    return;
  }
  if (!prompt->is_array() || prompt->empty()) fields.refuse("prompt", expected);
  if (prompt->front().is_number()) {
    ask.prompts.push_back(read_ids(*prompt, rules, fields));
    return;
  }
  if (prompt->size() > kMostPrompts) fields.refuse("prompt", expected);
  for (const Json& each : *prompt) {
    if (each.is_string())
      ask.prompts.push_back({each.get<std::string>()});
    else if (each.is_array() && !each.empty())
      ask.prompts.push_back(read_ids(each, rules, fields));
    else
      fields.refuse("prompt", expected);
  }
}

}  // namespace

// The usual 16 tokens are OpenAI's default for this route. `best_of` is accepted only where it changes nothing.
Ask read_completion(const Json& body, const AskRules& rules) {
  Fields fields(body);
  Ask ask;
  read_common(fields, rules, ask);
  read_prompts(fields, rules, ask);
  ask.options.predict = fields.whole("max_tokens", 0, kMostTokensOfAsk).value_or(16);
  ask.logprobs = fields.whole("logprobs", 0, kMostLogprobs);
  ask.echo = fields.flag("echo").value_or(false);
  if (const auto best = fields.whole("best_of", 1, kMostChoices); best && *best != ask.choices)
    fields.refuse("best_of", "as large as \"n\", since every choice is returned");
  ask.ignored = fields.finish(kHarmless, rules.lenient, kNullOfCompletions);
  return ask;
}

// Reads a chat's own members behind the common ones. The members left at the end are unknown, and finish() refuses
// them or keeps their names.
Ask read_chat(const Json& body, const AskRules& rules) {
  Fields fields(body);
  Ask ask;
  ask.is_chat = true;
  read_common(fields, rules, ask);
  const Json* messages = fields.find("messages");
  ask.messages = template_messages(messages ? *messages : Json());
  for (const char* name : {"tools", "tool_choice", "parallel_tool_calls"}) fields.find(name);
  ask.tools = read_tools(body);
  const auto old = fields.whole("max_tokens", 0, kMostTokensOfAsk);
  const auto most = fields.whole("max_completion_tokens", 0, kMostTokensOfAsk);
  ask.options.predict = most ? *most : old.value_or(-1);
  const bool has_logprobs = fields.flag("logprobs").value_or(false);
  const auto likely = fields.whole("top_logprobs", 0, kMostLogprobs);
  if (likely && !has_logprobs) fields.refuse("top_logprobs", "absent without \"logprobs\": true");
  if (has_logprobs) ask.logprobs = likely.value_or(0);
  if (const Json* arguments = fields.find("chat_template_kwargs")) {
    if (!arguments->is_object()) fields.refuse("chat_template_kwargs", "an object");
    ask.template_arguments = *arguments;
  }
  if (const Json* kinds = fields.find("modalities"); kinds && *kinds != Json::array({"text"}))
    fields.refuse("modalities", "[\"text\"]");
  ask.ignored = fields.finish(kHarmless, rules.lenient, kNullOfChats);
  return ask;
}

}  // namespace tandem::serve
