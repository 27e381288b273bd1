// The regions that a program copies to a device without shared memory, and the regions that it copies back.
#include "engine/device/gpu/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/pool.h"

namespace tandem::gpu {
namespace {

using ::testing::UnorderedElementsAre;

class CopiesAround : public ::testing::Test {
 protected:
  static constexpr int64_t kRows = 2, kWidth = 32;
  sync::Slot& slot(const char* name) {
    return pool_.acquire(kRows * kWidth * sizeof(float), sync::SlotUse::activations, name);
  }
  // The program runs y = x in the first `width` columns, then z += y.
  CopiedRegions copied_then_added(int64_t width) {
    const Copy copy{kRows, 1, width, {&x_, 0}, {&y_, 0}, kWidth, 0, kWidth, 0};
    const Add add{kRows, kWidth, {&z_, 0}, {&y_, 0}, kWidth, kWidth};
    CopiedRegions all;
    for (const Operator& op : {Operator{"copy", copy}, Operator{"add", add}}) collect_regions(op, all);
    return all;
  }
  static std::vector<std::string> names(const std::vector<Region>& regions) {
    std::vector<std::string> all;
    for (const Region& region : regions) all.push_back(region.at.slot->label());
    return all;
  }

  sync::Pool pool_;
  sync::Slot &x_ = slot("x"), &y_ = slot("y"), &z_ = slot("z");
};

TEST_F(CopiesAround, bring_nothing_that_the_program_itself_has_written_before) {
  const CopiedRegions all = copied_then_added(kWidth);
  EXPECT_THAT(names(all.uploads), UnorderedElementsAre("x", "z"));
  EXPECT_THAT(names(all.downloads), UnorderedElementsAre("y", "z"));
}

TEST_F(CopiesAround, bring_what_was_written_in_part) {
  EXPECT_THAT(names(copied_then_added(kWidth / 2).uploads), UnorderedElementsAre("x", "y", "z"));
}

// A slot has 64 floats, 256 bytes. It is a page long, so its last part of 1,500 bytes has 1,096.
TEST_F(CopiesAround, bring_the_changed_parts_of_divided_slots) {
  x_.divide(1500);
  const CopiedRegions all = copied_then_added(kWidth);
  EXPECT_THAT(names(all.uploads), UnorderedElementsAre("z"));
  ASSERT_EQ(all.divided, (std::vector<const sync::Slot*>{&x_}));
  CopiedParts parts;
  EXPECT_TRUE(parts.take_changed(x_).empty()) << "nobody has written it";
  x_.changed(1600, 10);
  x_.changed(4000, 10);
  const std::vector<Region> changed = parts.take_changed(x_);
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].at.offset_bytes, 1500U);
  EXPECT_EQ(changed[0].width_bytes, 1500U);
  EXPECT_EQ(changed[1].at.offset_bytes, 3000U);
  EXPECT_EQ(changed[1].width_bytes, 1096U);
  EXPECT_TRUE(parts.take_changed(x_).empty()) << "they were taken";
  x_.changed(0, 1);
  EXPECT_EQ(parts.take_changed(x_).size(), 1U);
}

}  // namespace
}  // namespace tandem::gpu
