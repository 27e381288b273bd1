// Files that are good but for one fault, and what reading them must say.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "engine/model/loading.h"
#include "engine/model/weights.h"
#include "sync/error.h"
#include "tests/support/gguf_writer.h"

namespace tandem::testing {

struct Refusal {
  const char* fault;
  std::function<void(GgufWriter&)> change;  // makes it, of a good file
  const char* expected;                     // part of what the Error says
};

inline ModelConfig config_of(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  return read_config(GgufFile::parse(bytes, "tiny.gguf"));
}

// Loads it all. A file that is refused has taken no memory before.
inline void load_all(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  sync::Pool pool;
  try {
    load_model(GgufFile::parse(bytes, "tiny.gguf"), pool, 2);
  } catch (const Error&) {
    EXPECT_EQ(pool.mapped_bytes(), 0u);
    throw;
  }
}

// `make` gives a good file; with each change `read` ends with an Error that names the file.
inline void expect_refused(const std::vector<Refusal>& refusals, const std::function<GgufWriter()>& make,
                           const std::function<void(const GgufWriter&)>& read = config_of) {
  read(make());  // it is the change that is refused
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.fault);
    GgufWriter writer = make();
    refusal.change(writer);
    try {
      read(writer);
      ADD_FAILURE() << "was taken";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(refusal.expected));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("tiny.gguf"));
    }
  }
}

}  // namespace tandem::testing
