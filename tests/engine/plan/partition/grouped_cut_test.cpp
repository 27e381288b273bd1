// Sharing the rows of experts between two devices, with made-up times.
#include "engine/plan/partition/grouped_cut.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

Operator experts(int64_t rows) {
  GroupedMatMul op;
  op.S = 1, op.slots = 2;
  op.w.format = packed_format(StorageType::q8_0);
  op.w.count = 4, op.w.rows = rows, op.w.columns = 64;
  return {"experts", op};
}

// A row takes a second, and `slower` seconds on the second device.
SharingCosts costs(double slower, double sync) {
  return {[slower](bool second, const Operator& op) {
            return static_cast<double>(std::get<GroupedMatMul>(op.body).w.rows) * (second ? slower : 1);
          },
          sync};
}

TEST(GroupedCut, ends_both_devices_together) {
  EXPECT_EQ(best_grouped_rows(experts(640), costs(1, 0)), 320);
  // With 448 rows here the other device takes three times 192: 576. The cut 512 and 128 takes 512, and 384 and 256
  // takes 768.
  EXPECT_EQ(best_grouped_rows(experts(640), costs(3, 0)), 512);
}

TEST(GroupedCut, keeps_all_where_waiting_costs_more_than_it_gains) {
  EXPECT_EQ(best_grouped_rows(experts(640), costs(1, 319)), 320);
  EXPECT_EQ(best_grouped_rows(experts(640), costs(1, 321)), 640);
  EXPECT_EQ(best_grouped_rows(experts(64), costs(0.1, 0)), 64) << "one panel has no parts";
  EXPECT_EQ(best_grouped_rows(experts(100), costs(0.1, 0)), 64) << "36 rows of the last panel can go";
}

TEST(GroupedCut, looks_at_sixteenths_of_many_rows) {
  EXPECT_EQ(best_grouped_rows(experts(64 * 64), costs(1, 0)), 32 * 64);
}

}  // namespace
}  // namespace tandem
