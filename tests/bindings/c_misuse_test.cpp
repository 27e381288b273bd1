// Mistakes of a program that uses the C interface: each is a status with a sentence, and the library goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "tests/bindings/c_model.h"

namespace tandem::testing {
namespace {

constexpr int32_t kId = 5;

TEST(CApiMisuse, of_null_is_named) {
  char* text = nullptr;
  int32_t* ids = nullptr;
  size_t count = 0;
  EXPECT_EQ(tandem_model_load(nullptr, nullptr, nullptr), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("path"));
  EXPECT_EQ(tandem_model_load("x.gguf", nullptr, nullptr), TANDEM_USAGE);
  EXPECT_EQ(tandem_model_free(nullptr), TANDEM_USAGE);
  EXPECT_STREQ(tandem_last_error_what(), "the handle is null");
  EXPECT_STREQ(tandem_last_error_on(), "a model");
  EXPECT_EQ(tandem_tokenize(nullptr, "x", 1, 1, 1, &ids, &count), TANDEM_USAGE);
  EXPECT_EQ(tandem_devices_json(nullptr), TANDEM_USAGE);
  EXPECT_EQ(tandem_plan_json(nullptr, 3, &text), TANDEM_USAGE);
  EXPECT_EQ(tandem_sequence_free(nullptr), TANDEM_USAGE);
  EXPECT_EQ(tandem_cancel_set(nullptr), TANDEM_USAGE);
  tandem_free(nullptr);
  tandem_load_options_init(nullptr, 8);
  const CModel model;
  EXPECT_EQ(tandem_tokenize(model, nullptr, 3, 1, 1, &ids, &count), TANDEM_USAGE);
  EXPECT_EQ(tandem_generate(model, nullptr, 3, nullptr, nullptr, nullptr, nullptr), TANDEM_USAGE);
  EXPECT_EQ(tandem_generate(model, &kId, 0, nullptr, nullptr, nullptr, nullptr), TANDEM_USAGE);
}

TEST(CApiMisuse, of_freed_handles_is_named_also_when_new_ones_were_made) {
  CModel model;
  tandem_sequence* text = nullptr;
  expect_ok(tandem_sequence_new(model, &text));
  tandem_model* const freed = model.release();
  expect_ok(tandem_model_free(freed));
  const CModel other;
  int64_t tokens = 0;
  EXPECT_EQ(tandem_model_free(freed), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("freed"));
  EXPECT_EQ(tandem_model_vocabulary(freed, &tokens), TANDEM_USAGE);
  EXPECT_EQ(tandem_sequence_extend(text, &kId, 1, nullptr, nullptr), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("the model is closed"));
  EXPECT_EQ(tandem_model_free(reinterpret_cast<tandem_model*>(text)), TANDEM_USAGE);
  expect_ok(tandem_sequence_free(text));
  EXPECT_EQ(tandem_sequence_free(text), TANDEM_USAGE);
  EXPECT_EQ(tandem_model_vocabulary(reinterpret_cast<tandem_model*>(uintptr_t{12345}), &tokens), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("no handle"));
}

TEST(CApiMisuse, of_files_devices_plans_and_contexts_has_a_status_of_its_own) {
  tandem_model* model = nullptr;
  EXPECT_EQ(tandem_model_load("/nowhere/x.gguf", nullptr, &model), TANDEM_FILE);
  EXPECT_THAT(tandem_last_error_on(), HasSubstr("/nowhere/x.gguf"));
  const ScratchFolder folder;
  std::ofstream(folder.file("text.gguf")) << "this is no model";
  EXPECT_EQ(tandem_model_load(folder.file("text.gguf").c_str(), nullptr, &model), TANDEM_FILE);
  tandem_load_options options = load_options_on_host();
  options.devices = "tpu:0";
  EXPECT_EQ(tandem_model_load(stories().c_str(), &options, &model), TANDEM_DEVICE);
  options = load_options_on_host();
  options.plan = "no-such-plan";
  EXPECT_EQ(tandem_model_load(stories().c_str(), &options, &model), TANDEM_USAGE);
  options = load_options_on_host();
  options.act = "f8";
  EXPECT_EQ(tandem_model_load(stories().c_str(), &options, &model), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("f32"));
  for (const int64_t parallel : {int64_t{0}, int64_t{129}, int64_t{-5}}) {
    options = load_options_on_host();
    options.parallel = parallel;
    EXPECT_EQ(tandem_model_load(stories().c_str(), &options, &model), TANDEM_USAGE) << parallel;
  }
  EXPECT_EQ(model, nullptr);
  const CModel good;
  const std::vector<int32_t> ids(5000, kId);
  EXPECT_EQ(tandem_generate(good, ids.data(), ids.size(), nullptr, nullptr, nullptr, nullptr), TANDEM_CONTEXT);
  float* logits = nullptr;
  EXPECT_EQ(tandem_eval(good, ids.data(), ids.size(), nullptr, &logits), TANDEM_CONTEXT);
  tandem_sequence* text = nullptr;
  EXPECT_EQ(tandem_sequence_load(good, "/nowhere/x.state", &text), TANDEM_FILE);
  char* plan = nullptr;
  EXPECT_EQ(tandem_plan_json(good, 0, &plan), TANDEM_USAGE);
  EXPECT_EQ(tandem_plan_json(good, 1 << 20, &plan), TANDEM_CONTEXT);
}

TEST(CApiMisuse, of_ids_and_numbers_is_refused_before_anything_runs) {
  const CModel model;
  for (const int32_t id : {-1, 512, 1 << 30}) {
    EXPECT_EQ(tandem_generate(model, &id, 1, nullptr, nullptr, nullptr, nullptr), TANDEM_USAGE) << id;
    char* text = nullptr;
    size_t bytes = 0;
    EXPECT_EQ(tandem_detokenize(model, &id, 1, 0, &text, &bytes), TANDEM_USAGE) << id;
  }
  for (const float value : {NAN, INFINITY, -1.0f}) {
    tandem_generate_options options = so_many_tokens(4);
    options.temperature = value;
    EXPECT_EQ(tandem_generate(model, &kId, 1, &options, nullptr, nullptr, nullptr), TANDEM_USAGE) << value;
  }
  EXPECT_EQ(tandem_chat_prompt(model, "no json", nullptr, nullptr), TANDEM_USAGE);
  tandem_sequence* text = nullptr;
  expect_ok(tandem_sequence_new(model, &text));
  EXPECT_EQ(tandem_sequence_rewind(text, 1), TANDEM_USAGE);
  EXPECT_EQ(tandem_sequence_rewind(text, -1), TANDEM_USAGE);
  tandem_sequence* fork = nullptr;
  EXPECT_EQ(tandem_sequence_fork(text, 7, &fork), TANDEM_USAGE);
  expect_ok(tandem_sequence_free(text));
}

// A program that was compiled with an older header has a smaller structure.
TEST(CApiMisuse, of_sizes_is_refused_and_a_smaller_structure_keeps_the_defaults) {
  const CModel model;
  tandem_generate_options options = so_many_tokens(3);
  options.size = sizeof options + 8;
  EXPECT_EQ(tandem_generate(model, &kId, 1, &options, nullptr, nullptr, nullptr), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("newer library"));
  options.size = 3;
  EXPECT_EQ(tandem_generate(model, &kId, 1, &options, nullptr, nullptr, nullptr), TANDEM_USAGE);
  tandem_generate_options old;
  std::memset(&old, 0xff, sizeof old);
  tandem_generate_options_init(&old, offsetof(tandem_generate_options, temperature));
  EXPECT_EQ(old.size, offsetof(tandem_generate_options, temperature));
  EXPECT_NE(old.temperature, 0.0f) << "a member behind the caller's structure was written";
  old.predict = 3;
  EXPECT_EQ(c_text(model, {kId}, old).ids.size(), 3u);
  tandem_generation result{};
  EXPECT_EQ(tandem_generate(model, &kId, 1, nullptr, nullptr, nullptr, &result), TANDEM_USAGE);
}

// Half of a pointer would be taken for an address.
TEST(CApiMisuse, of_sizes_that_end_within_a_member_is_refused) {
  tandem_load_options load = load_options_on_host();
  tandem_model* made = nullptr;
  for (const size_t size : {offsetof(tandem_load_options, devices) + 4, sizeof load - 1}) {
    load.size = size;
    EXPECT_EQ(tandem_model_load(stories().c_str(), &load, &made), TANDEM_USAGE) << size;
    EXPECT_THAT(tandem_last_error(), HasSubstr("wrong size"));
  }
  EXPECT_EQ(made, nullptr);
  const CModel model;
  tandem_generation result{};
  result.size = offsetof(tandem_generation, stop_reason) + 3;
  EXPECT_EQ(tandem_generate(model, &kId, 1, nullptr, nullptr, nullptr, &result), TANDEM_USAGE);
  tandem_embed_options embed;
  tandem_embed_options_init(&embed, sizeof embed - 2);
  const size_t count = 1;
  float* vectors = nullptr;
  EXPECT_EQ(tandem_embed(model, &kId, &count, 1, &embed, &vectors, nullptr), TANDEM_USAGE);
}

// The array has one id, so a run over it would read what is not the caller's.
TEST(CApiMisuse, of_a_number_of_ids_beyond_the_context_reads_none_of_them) {
  const CModel model;
  constexpr size_t kTooMany = size_t{1} << 30;
  float* logits = nullptr;
  double perplexity = 0;
  EXPECT_EQ(tandem_eval(model, &kId, kTooMany, nullptr, &logits), TANDEM_CONTEXT);
  EXPECT_EQ(tandem_perplexity(model, &kId, kTooMany, nullptr, &perplexity), TANDEM_CONTEXT);
  EXPECT_EQ(tandem_generate(model, &kId, kTooMany, nullptr, nullptr, nullptr, nullptr), TANDEM_CONTEXT);
  tandem_sequence* text = nullptr;
  expect_ok(tandem_sequence_new(model, &text));
  EXPECT_EQ(tandem_sequence_extend(text, &kId, kTooMany, nullptr, nullptr), TANDEM_CONTEXT);
  EXPECT_EQ(tandem_sequence_generate(text, &kId, kTooMany, nullptr, nullptr, nullptr, nullptr), TANDEM_CONTEXT);
  const size_t counts[] = {kTooMany};
  EXPECT_EQ(tandem_embed(model, &kId, counts, 1, nullptr, &logits, nullptr), TANDEM_CONTEXT);
  expect_ok(tandem_sequence_free(text));
}

TEST(CApiMisuse, of_a_sequence_in_use_leaves_its_logits) {
  const CModel model;
  tandem_sequence* text = nullptr;
  expect_ok(tandem_sequence_new(model, &text));
  const float* logits = nullptr;
  expect_ok(tandem_sequence_extend(text, &kId, 1, nullptr, &logits));
  int64_t vocabulary = 0;
  expect_ok(tandem_model_vocabulary(model, &vocabulary));
  const std::vector<float> before(logits, logits + vocabulary);
  std::atomic<bool> may_go_on = false, is_written = false;
  struct Gate {
    std::atomic<bool>&may_go_on, &is_written;
  } gate{may_go_on, is_written};
  std::thread writer([&] {
    const tandem_generate_options options = so_many_tokens(2);
    const auto wait = [](void* user, const tandem_piece*) {
      static_cast<Gate*>(user)->is_written = true;
      while (!static_cast<Gate*>(user)->may_go_on) std::this_thread::yield();
      return 0;
    };
    EXPECT_EQ(tandem_sequence_generate(text, &kId, 1, &options, wait, &gate, nullptr), TANDEM_OK);
  });
  while (!is_written) std::this_thread::yield();
  const float* others = nullptr;
  EXPECT_EQ(tandem_sequence_extend(text, &kId, 1, nullptr, &others), TANDEM_USAGE);
  EXPECT_THAT(tandem_last_error(), HasSubstr("in use"));
  EXPECT_EQ(others, nullptr);
  may_go_on = true;
  writer.join();
  tandem_sequence* next = nullptr;
  expect_ok(tandem_sequence_new(model, &next));
  expect_ok(tandem_sequence_extend(next, &kId, 1, nullptr, &others));  // takes a buffer that is free
  EXPECT_NE(others, logits);
  expect_ok(tandem_sequence_free(next));
  EXPECT_EQ(std::vector<float>(logits, logits + vocabulary), before);
  expect_ok(tandem_sequence_free(text));
}

TEST(CApiMisuse, of_a_forked_process_is_named) {
  const CModel model;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto is_named = [](tandem_status status) {
      return status == TANDEM_USAGE && std::strstr(tandem_last_error(), "fork") != nullptr;
    };
    if (!is_named(tandem_generate(model, &kId, 1, nullptr, nullptr, nullptr, nullptr))) ::_exit(1);
    ::_exit(is_named(tandem_model_free(model)) ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(CApiMisuse, of_one_thread_is_no_error_of_another) {
  tandem_model_free(nullptr);
  std::string others = "unset";
  std::thread([&] { others = tandem_last_error(); }).join();
  EXPECT_EQ(others, "");
  EXPECT_NE(std::string(tandem_last_error()), "");
}

// Any order of calls with any handles, alive, freed or invented.
TEST(CApiMisuse, of_any_order_ends_in_a_status) {
  std::mt19937 random(3);
  CModel model;
  std::vector<tandem_sequence*> texts = {nullptr, reinterpret_cast<tandem_sequence*>(uintptr_t{64})};
  const auto any = [&](auto& all) { return all[random() % all.size()]; };
  int64_t position = 0;
  for (int round = 0; round < 600; ++round) {
    tandem_sequence* made = nullptr;
    tandem_status status = TANDEM_OK;
    switch (random() % 7) {
      case 0:
        status = tandem_sequence_new(model, &made);
        break;
      case 1:
        status = tandem_sequence_free(any(texts));
        break;
      case 2:
        status = tandem_sequence_extend(any(texts), &kId, random() % 2, nullptr, nullptr);
        break;
      case 3:
        status = tandem_sequence_fork(any(texts), static_cast<int64_t>(random() % 4) - 1, &made);
        break;
      case 4:
        status = tandem_sequence_rewind(any(texts), static_cast<int64_t>(random() % 4) - 1);
        break;
      case 5:
        status = tandem_sequence_position(any(texts), &position);
        break;
      default:
        status = tandem_sequence_save(any(texts), "/nowhere/x.state");
    }
    EXPECT_TRUE(status == TANDEM_OK || status == TANDEM_USAGE || status == TANDEM_FILE) << tandem_last_error();
    if (made != nullptr && texts.size() < 20)
      texts.push_back(made);
    else if (made != nullptr)
      tandem_sequence_free(made);
  }
  for (tandem_sequence* each : texts) tandem_sequence_free(each);
  EXPECT_EQ(c_text(model, {kId}, so_many_tokens(3)).ids.size(), 3u);
}

}  // namespace
}  // namespace tandem::testing
