// The C interface: its results are those of the program, and what goes wrong is a status with a sentence.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "tests/bindings/c_model.h"

namespace tandem::testing {
namespace {

const json& program_text() {
  static const json text = json_of(Arguments{"run", "-m", stories(), "-p", "Once upon a time", "-n", "24"} + on_host());
  return text;
}

TEST(CApi, writes_the_ids_and_the_text_of_the_program) {
  const CModel model;
  const std::vector<int32_t> prompt = c_ids(model, "Once upon a time");
  EXPECT_EQ(json(prompt), program_text().at("prompt_ids"));
  const CText text = c_text(model, prompt, so_many_tokens(24));
  EXPECT_EQ(json(text.ids), program_text().at("ids"));
  EXPECT_EQ(text.text, program_text().at("text"));
  EXPECT_EQ(text.reason, "length");
}

TEST(CApi, draws_what_the_program_draws_for_a_seed) {
  const json drawn =
      json_of(Arguments{"run", "-m", stories(), "-p", "The dog", "-n", "24", "--temp", "0.9", "--top-k", "20",
                        "--top-p", "0.8", "--min-p", "0.01", "--repeat-penalty", "1.2", "-s", "7"} +
              on_host());
  const CModel model;
  tandem_generate_options options = so_many_tokens(24);
  options.temperature = 0.9f;
  options.top_k = 20;
  options.top_p = 0.8f;
  options.min_p = 0.01f;
  options.repeat_penalty = 1.2f;
  options.seed = 7;
  EXPECT_EQ(json(c_text(model, c_ids(model, "The dog"), options).ids), drawn.at("ids"));
}

struct Heard {
  std::string text;
  std::vector<int32_t> ids;
  double logprobs = 0;
  size_t most = 1000;  // pieces, then it asks for the end
  tandem_model* calls = nullptr;
  tandem_status called = TANDEM_OK;
};
int hear(void* user, const tandem_piece* piece) {
  Heard& heard = *static_cast<Heard*>(user);
  heard.text.append(piece->text, piece->bytes);
  if (piece->id >= 0) heard.ids.push_back(piece->id);
  heard.logprobs += piece->logprob;
  if (heard.calls != nullptr) {
    char* json = nullptr;
    heard.called = tandem_model_json(heard.calls, &json);
  }
  return heard.ids.size() >= heard.most;
}

TEST(CApi, hands_over_each_token_with_its_text_and_probability) {
  const CModel model;
  tandem_generate_options options = so_many_tokens(24);
  options.logprobs = 1;
  Heard heard;
  c_text(model, c_ids(model, "Once upon a time"), options, hear, &heard);
  EXPECT_EQ(json(heard.ids), program_text().at("ids"));
  EXPECT_EQ(heard.text, program_text().at("text"));
  EXPECT_LT(heard.logprobs, 0);
}

TEST(CApi, ends_a_text_where_its_callback_wants) {
  const CModel model;
  Heard heard;
  heard.most = 5;
  const CText text = c_text(model, c_ids(model, "Once upon a time"), so_many_tokens(24), hear, &heard);
  EXPECT_EQ(text.reason, "interrupted");
  EXPECT_EQ(heard.ids.size(), 5u);
  EXPECT_EQ(c_text(model, c_ids(model, "Once upon a time"), so_many_tokens(3)).ids.size(), 3u);
}

TEST(CApi, refuses_a_call_out_of_a_callback) {
  const CModel model;
  Heard heard;
  heard.calls = model;
  c_text(model, c_ids(model, "Once"), so_many_tokens(4), hear, &heard);
  EXPECT_EQ(heard.called, TANDEM_USAGE);
}

struct Cancelling {
  tandem_cancel* cancel;
  std::atomic<int> pieces = 0;
};
TEST(CApi, ends_a_text_that_another_thread_cancels) {
  const CModel model;
  Cancelling cancelling;
  expect_ok(tandem_cancel_new(&cancelling.cancel));
  tandem_generate_options options = so_many_tokens(-1);
  options.ignore_end = 1;
  options.cancel = cancelling.cancel;
  std::thread other([&] {
    while (cancelling.pieces < 3) std::this_thread::yield();
    expect_ok(tandem_cancel_set(cancelling.cancel));
  });
  const CText text = c_text(
      model, c_ids(model, "Once upon a time"), options,
      [](void* user, const tandem_piece*) {
        ++static_cast<Cancelling*>(user)->pieces;
        return 0;
      },
      &cancelling);
  other.join();
  EXPECT_EQ(text.reason, "interrupted");
  EXPECT_GE(text.ids.size(), 3u);
  // A set cancel stays set.
  float* logits = nullptr;
  const std::vector<int32_t> ids(300, 5);
  tandem_generate_options again = options;
  EXPECT_EQ(c_text(model, c_ids(model, "Once"), again).reason, "interrupted");
  EXPECT_EQ(tandem_eval(model, ids.data(), ids.size(), cancelling.cancel, &logits), TANDEM_INTERRUPTED);
  EXPECT_EQ(logits, nullptr);
  expect_ok(tandem_cancel_free(cancelling.cancel));
}

TEST(CApi, writes_texts_of_two_threads_as_each_alone) {
  const CModel model;
  const char* prompts[] = {"Once upon a time", "The dog"};
  std::vector<int32_t> alone[2], together[2];
  for (int i = 0; i < 2; ++i) alone[i] = c_text(model, c_ids(model, prompts[i]), so_many_tokens(20)).ids;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { together[i] = c_text(model, c_ids(model, prompts[i]), so_many_tokens(20)).ids; });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(together[i], alone[i]) << i;
}

TEST(CApi, keeps_the_form_of_a_schema_a_grammar_and_an_object) {
  const CModel model;
  tandem_generate_options options = so_many_tokens(80);
  options.json_schema = R"({"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9}},
                            "required": ["age"], "additionalProperties": false})";
  const json person = json::parse(c_text(model, c_ids(model, "Once"), options).text, nullptr, false);
  EXPECT_TRUE(person.is_object() && person.at("age").is_number_integer()) << person;
  options.json_schema = "";
  options.grammar = "root ::= \"yes\" | \"no\"";
  const std::string answer = c_text(model, c_ids(model, "Once"), options).text;
  EXPECT_TRUE(answer == "yes" || answer == "no") << answer;
  options.json_object = 1;
  tandem_generation none{};
  none.size = sizeof none;
  const int32_t id = 5;
  EXPECT_EQ(tandem_generate(model, &id, 1, &options, nullptr, nullptr, &none), TANDEM_USAGE);
  EXPECT_EQ(none.ids, nullptr);
}

TEST(CApi, gives_the_golden_logits) {
  const json story = golden("story");
  const auto ids = story.at("prompt_ids").get<std::vector<int32_t>>();
  const std::vector<float> expected = floats_of(golden_logits(story));
  const CModel model;
  int64_t vocabulary = 0;
  expect_ok(tandem_model_vocabulary(model, &vocabulary));
  ASSERT_EQ(expected.size(), ids.size() * static_cast<size_t>(vocabulary));
  float* logits = nullptr;
  expect_ok(tandem_eval(model, ids.data(), ids.size(), nullptr, &logits));
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 2e-3) << i;
  // The definition, by these logits: exp of the mean of log(sum of exp(l)) - l[next].
  double sum = 0;
  for (size_t t = 0; t + 1 < ids.size(); ++t) {
    const float* row = logits + t * static_cast<size_t>(vocabulary);
    double all = 0;
    for (int64_t v = 0; v < vocabulary; ++v) all += std::exp(static_cast<double>(row[v]));
    sum += std::log(all) - static_cast<double>(row[ids[t + 1]]);
  }
  double perplexity = 0;
  expect_ok(tandem_perplexity(model, ids.data(), ids.size(), nullptr, &perplexity));
  EXPECT_NEAR(perplexity, std::exp(sum / static_cast<double>(ids.size() - 1)), 1e-6 * perplexity);
  tandem_free(logits);
}

TEST(CApi, gives_the_vectors_of_the_program) {
  const json said = json_of(Arguments{"embed", "-m", stories(), "-p", "The dog"} + on_host());
  const auto expected = said.at("data").at(0).at("embedding").get<std::vector<float>>();
  const CModel model;
  std::vector<int32_t> ids = c_ids(model, "Once upon a time");
  const std::vector<int32_t> dog = c_ids(model, "The dog");
  const size_t counts[] = {ids.size(), dog.size()};
  ids.insert(ids.end(), dog.begin(), dog.end());
  float* vectors = nullptr;
  int64_t width = 0;
  expect_ok(tandem_embed(model, ids.data(), counts, 2, nullptr, &vectors, &width));
  ASSERT_EQ(width, std::ssize(expected));
  EXPECT_EQ(std::vector<float>(vectors + width, vectors + 2 * width), expected);
  tandem_free(vectors);
  tandem_embed_options options;
  tandem_embed_options_init(&options, sizeof options);
  options.plain = 1;
  expect_ok(tandem_embed(model, ids.data(), counts, 1, &options, &vectors, nullptr));
  double square = 0;
  for (int64_t i = 0; i < width; ++i) square += static_cast<double>(vectors[i]) * vectors[i];
  EXPECT_GT(std::abs(square - 1), 1e-3) << "the vector was given the length 1";
  tandem_free(vectors);
  options.pooling = "most";
  EXPECT_EQ(tandem_embed(model, ids.data(), counts, 1, &options, &vectors, nullptr), TANDEM_USAGE);
  EXPECT_EQ(tandem_embed(model, ids.data(), nullptr, 1, nullptr, &vectors, nullptr), TANDEM_USAGE);
  EXPECT_EQ(tandem_embed(model, ids.data(), counts, 0, nullptr, &vectors, nullptr), TANDEM_USAGE);
}

TEST(CApi, keeps_sequences_that_are_extended_forked_rewound_and_saved) {
  const CModel model;
  const std::vector<int32_t> ids = c_ids(model, "Once upon a time there was a dog");
  int64_t vocabulary = 0, position = 0;
  expect_ok(tandem_model_vocabulary(model, &vocabulary));
  float* all = nullptr;
  expect_ok(tandem_eval(model, ids.data(), ids.size(), nullptr, &all));
  const auto row = [&](size_t token) { return all + (token - 1) * static_cast<size_t>(vocabulary); };
  const auto same = [&](const float* logits, size_t token) {
    return std::memcmp(logits, row(token), static_cast<size_t>(vocabulary) * sizeof(float)) == 0;
  };
  tandem_sequence *text = nullptr, *fork = nullptr, *loaded = nullptr;
  expect_ok(tandem_sequence_new(model, &text));
  const float *logits = nullptr, *of_fork = nullptr;
  expect_ok(tandem_sequence_extend(text, ids.data(), ids.size(), nullptr, &logits));
  EXPECT_TRUE(same(logits, ids.size()));
  expect_ok(tandem_sequence_fork(text, 4, &fork));
  expect_ok(tandem_sequence_extend(fork, ids.data() + 4, 2, nullptr, &of_fork));
  EXPECT_TRUE(same(of_fork, 6));
  EXPECT_TRUE(same(logits, ids.size())) << "a later pass wrote over these logits";
  expect_ok(tandem_sequence_rewind(text, 3));
  expect_ok(tandem_sequence_extend(text, ids.data() + 3, 2, nullptr, &logits));
  EXPECT_TRUE(same(logits, 5));
  const ScratchFolder folder;
  expect_ok(tandem_sequence_save(text, folder.file("text.state").c_str()));
  expect_ok(tandem_sequence_load(model, folder.file("text.state").c_str(), &loaded));
  expect_ok(tandem_sequence_position(loaded, &position));
  EXPECT_EQ(position, 5);
  int32_t* kept = nullptr;
  size_t count = 0;
  expect_ok(tandem_sequence_ids(loaded, &kept, &count));
  EXPECT_EQ(taken(kept, count), std::vector<int32_t>(ids.begin(), ids.begin() + 5));
  expect_ok(tandem_sequence_extend(loaded, ids.data() + 5, 1, nullptr, &logits));
  EXPECT_TRUE(same(logits, 6));
  tandem_free(all);
  for (tandem_sequence* each : {text, fork, loaded}) expect_ok(tandem_sequence_free(each));
}

TEST(CApi, continues_a_sequence_as_the_whole_text) {
  const CModel model;
  const std::vector<int32_t> ids = c_ids(model, "Once upon a time");
  tandem_sequence* text = nullptr;
  expect_ok(tandem_sequence_new(model, &text));
  expect_ok(tandem_sequence_extend(text, ids.data(), 3, nullptr, nullptr));
  tandem_generation result{};
  result.size = sizeof result;
  const tandem_generate_options options = so_many_tokens(24);
  expect_ok(tandem_sequence_generate(text, ids.data() + 3, ids.size() - 3, &options, nullptr, nullptr, &result));
  EXPECT_EQ(json(taken(result.ids, result.id_count)), program_text().at("ids"));
  tandem_free(result.text);
  expect_ok(tandem_sequence_free(text));
}

TEST(CApi, reports_devices_the_model_its_plans_and_a_timeline) {
  const CModel model;
  char* text = nullptr;
  expect_ok(tandem_devices_json(&text));
  const json devices = json::parse(taken(text));
  EXPECT_TRUE(std::ranges::any_of(devices, [](const json& each) { return each.at("id") == "host"; })) << devices;
  expect_ok(tandem_model_json(model, &text));
  EXPECT_EQ(json::parse(taken(text)).at("device"), "host");
  expect_ok(tandem_plan_json(model, 40, &text));
  const json plan = json::parse(taken(text));
  EXPECT_EQ(plan.at("phases").front().at("tokens"), 40);
  EXPECT_EQ(plan.at("phases").back().at("phase"), "decode");
  EXPECT_FALSE(plan.at("phases").front().at("steps").empty());
  EXPECT_EQ(tandem_trace_stop(model, &text), TANDEM_USAGE);
  expect_ok(tandem_trace_start(model));
  EXPECT_EQ(tandem_trace_start(model), TANDEM_USAGE);
  c_text(model, c_ids(model, "Once"), so_many_tokens(4));
  expect_ok(tandem_trace_stop(model, &text));
  const json trace = json::parse(taken(text));
  EXPECT_TRUE(std::ranges::any_of(trace.at("traceEvents"), [](const json& event) {
    return event.at("ph") == "X" && event.at("args").at("clock") == "measured";
  }));
}

TEST(CApi, decodes_what_it_encodes) {
  const CModel model;
  const std::string text = "Lily\xc3\xa9 saw\n a \xff";
  int32_t* ids = nullptr;
  size_t count = 0, bytes = 0;
  char* decoded = nullptr;
  expect_ok(tandem_tokenize(model, text.data(), text.size(), 0, 0, &ids, &count));
  expect_ok(tandem_detokenize(model, ids, count, 0, &decoded, &bytes));
  EXPECT_EQ(std::string(decoded, bytes), text);
  tandem_free(decoded);
  tandem_free(ids);
}

TEST(CApi, gives_the_text_of_more_ids_than_the_context_holds) {
  const CModel model;
  const std::vector<int32_t> ids(9000, c_ids(model, " dog").back());
  char* text = nullptr;
  size_t bytes = 0;
  expect_ok(tandem_detokenize(model, ids.data(), ids.size(), 0, &text, &bytes));
  EXPECT_GE(bytes, ids.size());
  tandem_free(text);
}

// All experts in memory, a quarter of them, and copies into slots: the ids are the same.
TEST(CApi, takes_budgets_for_experts) {
  const Folder folder;
  const std::string path = toy_mixture(folder, 2, 128);
  const auto written = [&](const tandem_load_options& options, int64_t slots) -> json {
    tandem_model* model = nullptr;
    expect_ok(tandem_model_load(path.c_str(), &options, &model));
    if (model == nullptr) return nullptr;
    tandem_generate_options eight = so_many_tokens(8);
    eight.ignore_end = 1;
    const json ids = c_text(model, {7, 8, 9}, eight).ids;
    EXPECT_EQ(ids.size(), 8u);
    char* report = nullptr;
    expect_ok(tandem_model_json(model, &report));
    const json store = json::parse(taken(report)).at("expert_store");
    if (slots == 0)
      EXPECT_EQ(store, nullptr);
    else
      EXPECT_EQ(store.value("slots_per_layer", int64_t{0}), slots);
    expect_ok(tandem_model_free(model));
    return ids;
  };
  tandem_load_options options = load_options_on_host();
  const json all = written(options, 0);
  options.expert_budget = "25%";
  EXPECT_EQ(written(options, 2), all);
  options.expert_budget = "auto";
  options.host_budget = "50%";
  EXPECT_EQ(written(options, 4), all);
  tandem_model* none = nullptr;
  for (const char* wrong : {"0%", "2", "2GB", "much"}) {
    options = load_options_on_host();
    options.expert_budget = wrong;
    EXPECT_EQ(tandem_model_load(path.c_str(), &options, &none), TANDEM_USAGE) << wrong;
    EXPECT_THAT(tandem_last_error(), HasSubstr("budget"));
  }
  options = load_options_on_host();
  options.expert_policy = "lru";
  EXPECT_EQ(tandem_model_load(path.c_str(), &options, &none), TANDEM_USAGE) << "it would have no use";
  options = load_options_on_host();
  options.packed = "/nowhere/x.packed";
  EXPECT_EQ(tandem_model_load(path.c_str(), &options, &none), TANDEM_FILE);
  EXPECT_EQ(none, nullptr);
}

// The model is its own draft model.
TEST(CApi, drafts_change_no_token) {
  const Folder folder;
  const std::string history = folder.file("history"), path = stories();
  tandem_load_options drafting = load_options_on_host();
  drafting.draft_model = path.c_str(), drafting.history = history.c_str(), drafting.chunk = 16;
  const CModel plain, drafts(drafting);
  tandem_generate_options options = so_many_tokens(24);
  EXPECT_EQ(options.draft_max, 15);
  options.ignore_end = 1, options.spec = "none";
  const std::vector<int32_t> expected = c_text(plain, {5, 7}, options).ids;
  ASSERT_EQ(expected.size(), 24U);
  for (const char* spec : {static_cast<const char*>(nullptr), "auto", "sdnpu", "pld", "sam"}) {
    options.spec = spec;
    EXPECT_EQ(c_text(plain, {5, 7}, options).ids, expected) << (spec != nullptr ? spec : "null");
    EXPECT_EQ(c_text(drafts, {5, 7}, options).ids, expected) << (spec != nullptr ? spec : "null");
  }
  EXPECT_GT(std::filesystem::file_size(history), 0U);
  const std::vector<int32_t> prompt = {5};
  const auto status = [&](const char* spec, int64_t draft_max) {
    options.spec = spec, options.draft_max = draft_max;
    return tandem_generate(plain, prompt.data(), prompt.size(), &options, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(status("fast", 15), TANDEM_USAGE);
  EXPECT_EQ(status("auto", 64), TANDEM_USAGE);
  EXPECT_EQ(status("auto", 63), TANDEM_OK);
  tandem_model* none = nullptr;
  tandem_load_options wrong = load_options_on_host();
  wrong.draft_model = "/nowhere/x.gguf";
  EXPECT_EQ(tandem_model_load(path.c_str(), &wrong, &none), TANDEM_FILE);
}

TEST(CApi, answers_no_conversation_without_a_template) {
  const CModel model;
  const std::vector<int32_t> prompt = {5};
  tandem_generate_options options = so_many_tokens(2);
  options.chat = 1;
  EXPECT_EQ(tandem_generate(model, prompt.data(), prompt.size(), &options, nullptr, nullptr, nullptr), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("no chat template"));
}

// A program that was compiled before the budgets were members.
TEST(CApi, loads_for_an_older_header) {
  tandem_load_options options = load_options_on_host();
  std::memset(&options.expert_budget, 0xff, sizeof options - offsetof(tandem_load_options, expert_budget));
  options.size = offsetof(tandem_load_options, expert_budget);
  const CModel model(options);
  EXPECT_EQ(c_text(model, {5}, so_many_tokens(3)).ids.size(), 3u);
}

}  // namespace
}  // namespace tandem::testing
