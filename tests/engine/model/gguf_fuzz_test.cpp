// Random damage to a valid model. The model is read, or the reader throws a tandem::Error; the sanitizers find nothing
// else. The file is also a seed corpus: a fault found by the libFuzzer target becomes a case here.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/engine/model/read_all.h"
#include "tests/support/gguf_writer.h"

namespace tandem {
namespace {

using namespace tandem::testing;
using Bytes = std::vector<std::byte>;

constexpr uint64_t kSeed = 20240607;

Bytes small_model() {
  return write_gguf({.layers = 1,
                     .hidden = 8,
                     .feed_forward = 8,
                     .heads = 2,
                     .kv_heads = 1,
                     .vocabulary = 12,
                     .type = StorageType::f16});
}

// The place where the tensor data begins. Damage behind it only changes weights.
size_t header_bytes(const Bytes& model) {
  return static_cast<size_t>(GgufFile::parse(model, "whole").require("token_embd.weight").data - model.data());
}

TEST(FuzzedGguf, the_undamaged_model_loads) { EXPECT_TRUE(read_as_model(small_model())); }

TEST(FuzzedGguf, flipped_bytes_never_crash) {
  const Bytes valid = small_model();
  const size_t header = header_bytes(valid);
  std::mt19937_64 random(kSeed);
  int errors = 0;
  for (int round = 0; round < 4000; ++round) {
    Bytes damaged = valid;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      damaged[random() % header] ^= static_cast<std::byte>(1 + random() % 255);
    }
    errors += read_as_model(damaged) ? 0 : 1;
  }
  EXPECT_GT(errors, 1000) << "seed " << kSeed << ": the damage must reach the reader";
}

TEST(FuzzedGguf, replaced_numbers_never_crash) {
  const Bytes valid = small_model();
  const size_t header = header_bytes(valid);
  const uint64_t interesting[] = {
      0, 1, 0x7f, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, uint64_t{1} << 62, ~uint64_t{0} - 7, ~uint64_t{0}};
  std::mt19937_64 random(kSeed);
  int errors = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes damaged = valid;
    const uint64_t value = interesting[random() % std::size(interesting)];
    std::memcpy(&damaged[random() % (header - 8)], &value, random() % 2 ? 8 : 4);
    errors += read_as_model(damaged) ? 0 : 1;
  }
  EXPECT_GT(errors, 1000) << "seed " << kSeed;
}

TEST(FuzzedGguf, truncated_files_are_errors) {
  const Bytes valid = small_model();
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 1000; ++round) {
    const size_t size = random() % valid.size();
    EXPECT_FALSE(read_as_model(Bytes(valid.begin(), valid.begin() + static_cast<ptrdiff_t>(size)))) << size;
  }
}

}  // namespace
}  // namespace tandem
