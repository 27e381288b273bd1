// Files with exactly one fault, and the error that reading them must produce.
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
  std::function<void(GgufWriter&)> change;  // makes the fault in a good file
  const char* expected;                     // a part of the Error's text
};

inline ModelConfig config_of(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  return read_config(GgufFile::parse(bytes, "tiny.gguf"));
}

// Loads the whole file. Expects that a refused file has not taken memory.
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

// `make` makes a good file. With each change `read` must throw an Error that names the file.
inline void expect_refused(const std::vector<Refusal>& refusals, const std::function<GgufWriter()>& make,
                           const std::function<void(const GgufWriter&)>& read = config_of) {
  read(make());  // without a change the file is good
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
