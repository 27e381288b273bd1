// Shared parts of the tests of whole commands: the model they run, its known results, and readers of answers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "tests/engine/app/commands/child.h"
#include "tests/support/data.h"
#include "tests/support/requirements.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {

// Names that all tests of whole commands use.
using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Arguments = std::vector<std::string>;

inline Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Skips the test if the device is missing. Fails it if the environment requires the device.
#define NEED_DEVICE(id)                                                             \
  do {                                                                              \
    const std::string wanted = (id);                                                \
    if (std::ranges::count(::tandem::available_devices(), wanted) > 0) break;       \
    SKIP_OR_FAIL(::tandem::test::needs_of(wanted), "there is no device " + wanted); \
  } while (false)

// A trained model of 260 thousand parameters, with golden texts and logits.
inline std::string stories() { return repository_data("tiny-models/stories260K-F16.gguf"); }

// {"prompt", "prompt_ids", "greedy_ids", "greedy_text", "logits_file"} of the prompt "story", "lily" or "dialog".
inline nlohmann::json golden(const std::string& prompt) {
  const auto all = nlohmann::json::parse(std::ifstream(repository_data("tiny-models/golden/golden.json")));
  for (const auto& entry : all) {
    if (entry.at("logits_file") == "stories260K-F16." + prompt + ".logits.f32") return entry;
  }
  throw std::runtime_error("no golden entry for " + prompt);
}

// float32 logits, [tokens, vocabulary], of a golden entry.
inline std::string golden_logits(const nlohmann::json& entry) {
  return repository_data("tiny-models/golden/" + entry.at("logits_file").get<std::string>());
}

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<float> floats_of(const std::string& path) {
  const std::string bytes = content_of(path);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), values.size() * sizeof(float), reinterpret_cast<char*>(values.data()));
  return values;
}

// Everything runs on the host's own loops in f32. The golden texts were made this way.
inline Arguments on_host() {
  return {"--device", "host", "--plan", "host-only", "--act", "f32", "--cache-type", "f32"};
}

// Returns the one JSON value that a command prints. Expects that the command succeeds.
inline nlohmann::json json_of(Arguments arguments, const ChildSettings& settings = {}) {
  arguments.push_back("--json");
  const Ended ended = tandem(arguments, settings);
  EXPECT_EQ(ended.status, 0) << ::testing::PrintToString(arguments) << "\n" << ended.err << ended.out;
  return nlohmann::json::parse(ended.out, nullptr, false);
}

// A folder of the test's own, for files that commands read and write.
class Folder {
 public:
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name), std::ios::binary) << content;
    return file(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  const testing::ScratchFolder folder_;
};

// Writes a made-up mixture of eight experts, two for each token, into the folder. Returns the file's path.
inline std::string toy_mixture(const Folder& folder, int layers, int context) {
  const std::string shape = folder.write(
      "shape.json", R"({"schema": 1, "name": "toy", "architecture": "qwen3moe", "layers": )" + std::to_string(layers) +
                        R"(, "hidden": 64, "feed_forward": 96, "heads": 2, "vocabulary": 300, "context_length": )" +
                        std::to_string(context) + R"(, "experts": 8, "experts_used": 2, "expert_feed_forward": 64})");
  std::string model = folder.file("toy.gguf");
  EXPECT_EQ(tandem({"make-random", "--shape", shape, "--type", "q8_0", "-o", model, "-q"}).status, 0);
  return model;
}

template <typename T>
std::string words(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

}  // namespace tandem::testing
