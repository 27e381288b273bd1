// `tandem embed`: vectors of texts, one line of output for each. Texts come from flags, files, or lines of JSON.
#include "engine/app/commands/text/embed.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/app/commands/open_engine.h"
#include "engine/app/flag_values.h"
#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/model/pooling_names.h"
#include "engine/run/serve/vector_text.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/json_text.h"
#include "tandem/embed.h"

namespace tandem::app {
namespace {

constexpr int64_t kUsualPass = 512;  // tokens of an encoder's pass, if no text is longer
constexpr int kDeepestText = 4;

const std::map<std::string, Pooling> kPoolings(std::begin(kPoolingNames), std::end(kPoolingNames));

// The name of a pooling, as the flag and the document have it.
std::string name_of(Pooling pooling) {
  for (const auto& [name, value] : kPoolings)
    if (value == pooling) return name;
  return "none";
}

// One text: its tokens and vector, or why it has none.
struct Embedded {
  int64_t line = 0;  // counts from 1
  std::vector<int32_t> ids;
  std::vector<float> vector;
  std::optional<Error> error;
};

// The message shows which forms a line may have.
[[noreturn]] void refuse_line(const std::string& what) {
  throw Error("this line is no text", what,
              "A line is the text itself, or a JSON string, or {\"text\": \"...\"} if it begins with \" or {");
}

// A line that begins like a JSON string or object must be one. Any other line is the text itself.
std::string text_of_line(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || (line[begin] != '{' && line[begin] != '"')) return std::string(line);
  const JsonFlaw flaw = json_flaw(line, kDeepestText);
  if (flaw.kind != JsonFlaw::Kind::none && flaw.kind != JsonFlaw::Kind::digits) refuse_line("it is not JSON");
  const auto value = nlohmann::json::parse(line);
  if (value.is_string()) return value;
  for (const auto& [key, text] : value.items()) {
    if (key != "text" && key != "prompt" && key != "input") refuse_line("it has the key \"" + key + "\"");
    if (!text.is_string()) refuse_line("\"" + key + "\" is no text");
  }
  if (value.size() != 1) refuse_line("it has not exactly one text");
  return value.front();
}

// The lines of a text that are not blank.
std::vector<std::pair<int64_t, std::string_view>> lines_of(std::string_view text) {
  std::vector<std::pair<int64_t, std::string_view>> lines;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) lines.emplace_back(number, line);
  }
  return lines;
}

// The texts are encoded before the engine opens, because their lengths decide the context.
std::vector<Embedded> read_texts(const CommonFlags& flags, const EmbedFlags& embed, const GgufFile& file) {
  EncodeOptions encode;
  encode.parse_special = !flags.no_special;
  const auto tokenizer = make_tokenizer(file);
  const std::string input = input_text(flags.text);
  std::vector<Embedded> texts;
  if (!embed.lines) {
    texts.emplace_back().ids = tokenizer->encode(input, encode);
    return texts;
  }
  for (const auto& [number, line] : lines_of(input)) {
    Embedded& text = texts.emplace_back();
    text.line = number;
    try {
      text.ids = tokenizer->encode(text_of_line(line), encode);
    } catch (const Error& error) {
      text.error = error;
    }
  }
  if (texts.empty()) throw Error("there is no text", flags.text.has_file ? flags.text.file : "the text", "Give a line");
  file.require_unchanged();
  return texts;
}

// Room for the longest text. A text that the model is too small for gets its own error later.
std::unique_ptr<Engine> engine_for(const CommonFlags& flags, const EmbedFlags& embed, const ModelConfig& config,
                                   const std::vector<Embedded>& texts) {
  int64_t longest = 1;
  for (const Embedded& text : texts) longest = std::max(longest, std::ssize(text.ids));
  EngineNeeds needs;
  needs.sequences = embed.parallel;
  needs.hidden_states = true;
  if (config.sees_all) {
    const int64_t most = flags.ctx_size > 0 ? flags.ctx_size : config.context_length;
    needs.context = std::min(most, std::max(longest, kUsualPass));
    needs.chunk = needs.context;
  } else {
    needs.context = std::max(flags.ctx_size, flags.ctx_size > 0 ? 0 : std::min(longest, config.context_length));
    needs.context = std::max<int64_t>(needs.context, 64);
  }
  return open_engine(flags, needs);
}

// Texts that cannot have a vector get their error first, so the others share passes.
void embed_all(Engine& engine, const EmbedOptions& options, std::span<Embedded> texts) {
  std::vector<std::vector<int32_t>> ids;
  for (Embedded& text : texts) {
    if (text.error) continue;
    try {
      require_embeddable(engine, text.ids);
      ids.push_back(text.ids);
    } catch (const Error& error) {
      text.error = error;
    }
  }
  auto vectors = embed(engine, ids, options);
  auto next = vectors.begin();
  for (Embedded& text : texts)
    if (!text.error) text.vector = std::move(*next++);
}

// Numbers have the shortest digits that read back as the same float, and base64 has the bytes themselves.
nlohmann::json vector_json(const std::vector<float>& vector, bool base64) {
  if (base64) return base64_of(vector);
  nlohmann::json numbers = nlohmann::json::array();
  for (const float value : vector) numbers.push_back(written_double(value));
  return numbers;
}

// A text alone prints its numbers in one line, for other programs.
std::string vector_text(const std::vector<float>& vector, bool base64) {
  if (base64) return base64_of(vector);
  std::string text;
  for (const float value : vector) text += (text.empty() ? "" : " ") + shortest_digits(value);
  return text;
}

// A line's answer has its number, so answers can be joined with their texts again.
void print_line(const Embedded& text, bool base64) {
  nlohmann::json line = {{"line", text.line}};
  if (text.error) {
    std::fprintf(stderr, "tandem: line %lld: %s\n", static_cast<long long>(text.line), text.error->what());
    line.update(error_json(*text.error));
  } else {
    line.update({{"embedding", vector_json(text.vector, base64)}, {"tokens", text.ids.size()}});
  }
  print_json(line);
}

// One document in OpenAI's form, with what this program adds: the width, the pooling, and what it ran on.
void print_all(const Engine& engine, const EmbedFlags& embed, std::span<const Embedded> texts, double seconds) {
  nlohmann::json data = nlohmann::json::array();
  size_t tokens = 0;
  for (const Embedded& text : texts) {
    nlohmann::json one = {{"object", "embedding"}, {"index", data.size()}};
    if (embed.lines) one["line"] = text.line;
    if (text.error)
      one.update(error_json(*text.error));
    else
      one["embedding"] = vector_json(text.vector, embed.base64);
    if (!text.error) tokens += text.ids.size();
    data.push_back(std::move(one));
  }
  print_json({{"object", "list"},
              {"data", std::move(data)},
              {"model", engine.model().config().name},
              {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
              {"width", engine.width()},
              {"pooling", name_of(pooling_of(engine.model(), embed.pooling))},
              {"normed", !embed.plain},
              {"embed_ms", seconds * 1e3},
              {"clock", "measured"},
              {"device", engine.machine().device_names()},
              {"plan", engine.plans().name()},
              {"act", to_string(*engine.options().act)},
              {"bits", bits_json(engine)}});
}

}  // namespace

// Lines are embedded a group at a time, so that their vectors appear as they are made. One text that fails ends the
// command; of several lines the others go on.
int embed_command(const CommonFlags& flags, const EmbedFlags& embed) {
  apply_verbosity(flags);
  const GgufFile file = GgufFile::open(flags.model);
  const ModelConfig config = read_config(file);
  std::vector<Embedded> texts = read_texts(flags, embed, file);
  const auto engine = engine_for(flags, embed, config, texts);
  print_notes(flags, *engine);
  const EmbedOptions options{embed.pooling, !embed.plain, interrupted};
  pooling_of(engine->model(), embed.pooling);  // its Error concerns all texts
  if (!embed.lines) require_embeddable(*engine, texts.front().ids);
  TraceFile trace(flags, *engine);
  const double start = now_seconds();
  const size_t group = flags.json ? texts.size() : static_cast<size_t>(8 * embed.parallel);
  for (size_t first = 0; first < texts.size() && !interrupted(); first += group) {
    const auto some = std::span(texts).subspan(first, std::min(group, texts.size() - first));
    embed_all(*engine, options, some);
    if (flags.json) continue;
    for (const Embedded& text : some)
      embed.lines ? print_line(text, embed.base64) : void(std::cout << vector_text(text.vector, embed.base64) << "\n");
  }
  const double seconds = now_seconds() - start;
  trace.finish();
  if (flags.json) print_all(*engine, embed, texts, seconds);
  size_t tokens = 0;
  for (const Embedded& text : texts) tokens += text.vector.empty() ? 0 : text.ids.size();
  if (!flags.quiet())
    std::fprintf(stderr, "%zu texts of %zu tokens, %.1f tokens/s (measured); device %s; plan %s\n", texts.size(),
                 tokens, static_cast<double>(tokens) / seconds, engine->machine().device_names().c_str(),
                 engine->plans().name().c_str());
  const bool failed = std::ranges::any_of(texts, [](const Embedded& text) { return text.error.has_value(); });
  return interrupted() ? kInterrupted : failed ? kFailed : kDone;
}

// The server has the same flag, so it is a function of its own.
CLI::Option* add_pooling_flag(CLI::App& app, std::optional<Pooling>& pooling) {
  return app
      .add_option_function<std::string>(
          "--pooling", [&pooling](const std::string& name) { pooling = kPoolings.at(name); },
          "how the vectors of tokens become the text's: mean, cls (the first one), last; default: what the file says, "
          "last for models that write texts")
      ->check(CLI::IsMember(kPoolings));
}

// Embeddings have one pass for each group of texts and no sampler, so flags of sampling are not here.
void add_embed(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<EmbedFlags>>();
  auto& own = flags->own;
  add_model_flag(app, flags->common);
  add_text_flags(app, flags->common);
  app.add_flag("--jsonl", own.lines,
               "each line is a text: the text itself, or a JSON string or {\"text\": \"...\"}; vectors are an object a "
               "line");
  add_pooling_flag(app, own.pooling);
  app.add_option_function<std::string>(
         "--encoding", [&own](const std::string& name) { own.base64 = name == "base64"; },
         "float (default): numbers; base64: the bytes of the numbers, f32, little-endian")
      ->check(CLI::IsMember({"float", "base64"}));
  app.add_flag("--no-norm", own.plain, "vectors keep their length; otherwise it is 1");
  app.add_option("--parallel", own.parallel, "of several texts: how many share a pass (also -np)")
      ->transform(whole(kParallelRange))
      ->capture_default_str();
  add_engine_flags(app, flags->common);
  add_output_flags(app, flags->common);
  app.callback([flags, &action, &app] {
    require_one_text(app);
    if (!flags->common.soc.empty()) throw CLI::ExcludesError("--soc", "embed");
    action = [flags] { return embed_command(flags->common, flags->own); };
  });
}

}  // namespace tandem::app
