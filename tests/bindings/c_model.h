// The model of the tests of the C interface, on the host's own loops, and readers of its results.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/tandem.h"
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {

inline tandem_load_options load_options_on_host() {
  tandem_load_options options;
  tandem_load_options_init(&options, sizeof options);
  options.devices = "host";
  options.plan = "host-only";
  options.act = "f32";
  options.cache_type = "f32";
  return options;
}

inline void expect_ok(tandem_status status) { EXPECT_EQ(status, TANDEM_OK) << tandem_last_error(); }

class CModel {
 public:
  explicit CModel(const tandem_load_options& options = load_options_on_host()) {
    expect_ok(tandem_model_load(stories().c_str(), &options, &handle_));
  }
  ~CModel() {
    if (handle_ != nullptr) expect_ok(tandem_model_free(handle_));
  }
  CModel(const CModel&) = delete;
  CModel& operator=(const CModel&) = delete;
  operator tandem_model*() const { return handle_; }
  tandem_model* release() { return std::exchange(handle_, nullptr); }

 private:
  tandem_model* handle_ = nullptr;
};

// Takes what the library handed out, and frees it.
inline std::vector<int32_t> taken(int32_t* ids, size_t count) {
  std::vector<int32_t> all(ids, ids + count);
  tandem_free(ids);
  return all;
}
inline std::string taken(char* text) {
  std::string all = text;
  tandem_free(text);
  return all;
}

inline std::vector<int32_t> c_ids(tandem_model* model, std::string_view text) {
  int32_t* ids = nullptr;
  size_t count = 0;
  expect_ok(tandem_tokenize(model, text.data(), text.size(), 1, 1, &ids, &count));
  return ids == nullptr ? std::vector<int32_t>() : taken(ids, count);
}

inline tandem_generate_options so_many_tokens(int64_t predict) {
  tandem_generate_options options;
  tandem_generate_options_init(&options, sizeof options);
  options.predict = predict;
  return options;
}

struct CText {
  std::vector<int32_t> ids;
  std::string text, reason;
};
inline CText c_text(tandem_model* model, const std::vector<int32_t>& prompt, const tandem_generate_options& options,
                    tandem_on_piece on_piece = nullptr, void* user = nullptr) {
  tandem_generation result{};
  result.size = sizeof result;
  const tandem_status status = tandem_generate(model, prompt.data(), prompt.size(), &options, on_piece, user, &result);
  expect_ok(status);
  if (status != TANDEM_OK) return {};
  return {taken(result.ids, result.id_count), taken(result.text), result.stop_reason};
}

}  // namespace tandem::testing
