#include "engine/device/proof/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::proof {
namespace {

Verdict example() {
  Verdict verdict;
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
  const auto read = from_text(to_text(example(), "files of today"), "files of today");
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

TEST(KeptVerdict, about_other_files_is_none) {
  EXPECT_FALSE(from_text(to_text(example(), "files of today"), "files of tomorrow"));
}

TEST(KeptVerdict, that_is_cut_off_anywhere_is_none) {
  const std::string text = to_text(example(), "files");
  for (size_t bytes = 0; bytes + 1 < text.size(); ++bytes)
    EXPECT_FALSE(from_text(text.substr(0, bytes), "files")) << bytes << " of " << text.size() << " bytes";
}

TEST(KeptVerdict, with_any_letter_changed_is_none_or_the_same) {
  const std::string text = to_text(example(), "files");
  for (size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = other[at] == 'x' ? 'y' : 'x';
    const auto read = from_text(other, "files");
    EXPECT_TRUE(!read || to_text(*read, "files") == text) << "at " << at;
  }
}

}  // namespace
}  // namespace tandem::proof
