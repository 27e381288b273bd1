#include "engine/device/proof/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/kept_file.h"

namespace tandem::proof {
namespace {

constexpr int64_t kNow = 1'800'000'000;

Verdict example() {
  Verdict verdict;
  verdict.tried_at = kNow - 60;
  verdict.moment = "512 MiB of memory available";
  verdict.tried = true;
  verdict.devices.push_back({{"GPU \"A\"", "driver 1", true, {"0123", "0000:65:00.0"}, true},
                             "",
                             {{"prefetch", "was ended by SIGABRT"}},
                             {true, 5, 132, 41e-6}});
  verdict.devices.push_back({{"GPU B", "driver 2\xff"}, "crashed", {}});
  verdict.drivers.push_back({"/etc/OpenCL/vendors/bad.icd", "aborted"});
  verdict.manifests = {"/etc/OpenCL/vendors/good.icd"};
  return verdict;
}

TEST(KeptVerdict, is_read_back_as_it_was_written) {
  const auto read = from_text(to_text(example(), "files of today"), "files of today", kNow);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->tried);
  ASSERT_EQ(read->devices.size(), 2u);
  EXPECT_EQ(read->devices[0].identity, example().devices[0].identity);
  EXPECT_EQ(read->devices[0].seen, (Seen{true, 5, 132, 41e-6}));
  EXPECT_EQ(read->devices[1].seen, Seen{});
  EXPECT_EQ(read->devices[0].spared, example().devices[0].spared);
  EXPECT_EQ(read->devices[1].problem, "crashed");
  ASSERT_EQ(read->drivers.size(), 1u);
  EXPECT_EQ(read->drivers[0].manifest, "/etc/OpenCL/vendors/bad.icd");
  EXPECT_EQ(read->manifests, example().manifests);
}

TEST(KeptVerdict, of_something_that_went_wrong_lasts_for_a_day_and_no_longer) {
  const std::string text = to_text(example(), "files");
  const int64_t tried_at = example().tried_at, day = 24 * 60 * 60;
  EXPECT_TRUE(from_text(text, "files", tried_at + day - 1));
  EXPECT_FALSE(from_text(text, "files", tried_at + day));
  EXPECT_FALSE(from_text(text, "files", tried_at - 1)) << "the clock was set back: nobody knows how long ago it was";
}

TEST(KeptVerdict, of_drivers_that_are_well_lasts_for_as_long_as_they_stay_the_same) {
  Verdict well;
  well.tried = true;
  well.tried_at = kNow;
  well.devices.push_back({{"GPU", "driver 1"}, "", {{"prefetch", "the compiler has no such builtin"}}});
  EXPECT_TRUE(from_text(to_text(well, "files"), "files", kNow + 1000 * kTriedAgainAfter_s));
}

TEST(KeptVerdict, tells_what_there_was_of_memory_and_room) {
  const auto read = from_text(to_text(example(), "files"), "files", kNow);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->moment, example().moment);
  EXPECT_EQ(read->tried_at, example().tried_at);
}

TEST(KeptVerdict, about_other_files_is_none) {
  EXPECT_FALSE(from_text(to_text(example(), "files of today"), "files of tomorrow", kNow));
}

TEST(KeptVerdict, that_is_cut_off_anywhere_is_none) {
  const std::string text = to_text(example(), "files");
  for (size_t bytes = 0; bytes + 1 < text.size(); ++bytes)
    EXPECT_FALSE(from_text(text.substr(0, bytes), "files", kNow)) << bytes << " of " << text.size() << " bytes";
}

TEST(KeptVerdict, with_any_letter_changed_is_none_or_the_same) {
  const std::string text = to_text(example(), "files");
  for (size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = other[at] == 'x' ? 'y' : 'x';
    const auto read = from_text(other, "files", kNow);
    EXPECT_TRUE(!read || to_text(*read, "files") == text) << "at " << at;
  }
}

// Its checksum is right, so only its depth speaks against it. Printing it overran the stack.
TEST(KeptVerdict, that_nests_deep_is_none) {
  const size_t levels = 500'000;
  const std::string deep = std::string(levels, '[') + std::string(levels, ']');
  const std::string text = R"({"format": "tandem driver proof 4", "fingerprint": "files", "checksum": )" +
                           std::to_string(gpu::fnv1a(deep)) + R"(, "verdict": )" + deep + "}";
  EXPECT_FALSE(from_text(text, "files", kNow));
}

TEST(KeptVerdict, in_a_file_of_any_other_json_is_none) {
  for (const char* text : {"", "null", "5", "[]", "\"text\"", "{}", R"({"format": []})"})
    EXPECT_FALSE(from_text(text, "files", kNow)) << text;
}

}  // namespace
}  // namespace tandem::proof
