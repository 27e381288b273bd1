// Engines on a random model that the test writes itself, on the host's own loops. They need no data and no driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/run/engine.h"
#include "engine/run/serve/extend.h"
#include "sync/error.h"
#include "tandem/generate.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/message_of.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {

using test::message_of;

// Owns the model's file: the file exists as long as this object.
class HostEngines {
 public:
  explicit HostEngines(const std::string& name, const TinyModel& model = {}) : path_(folder_.file(name + ".gguf")) {
    write_file(path_, write_gguf(model));
  }
  HostEngines(const HostEngines&) = delete;
  HostEngines& operator=(const HostEngines&) = delete;

  const std::string& path() const { return path_; }
  EngineOptions options(int64_t chunk = 64) const {
    EngineOptions options;
    options.model_path = path_;
    options.plan = "host-only";
    options.devices = {"host"};
    options.chunk = chunk;
    options.logit_rows = 1;
    options.measurements = "";
    return options;
  }
  std::unique_ptr<Engine> open(int64_t chunk = 64) const { return Engine::open(options(chunk)); }

 private:
  const ScratchFolder folder_;
  const std::string path_;
};

// `count` ids of the tiny vocabulary, behind its special tokens.
inline std::vector<int32_t> some_ids(int count) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(3 + (i * i + 5 * i) % 300);
  return ids;
}

// Options of a text of so many tokens, whatever the model would end with.
inline GenerateOptions so_many(int64_t tokens) {
  GenerateOptions options;
  options.predict = tokens;
  options.ignore_end = true;
  return options;
}

}  // namespace tandem::testing
