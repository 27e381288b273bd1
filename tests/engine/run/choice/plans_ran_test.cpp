// The report on the plans that ran, beside the requested plan.
#include "engine/run/choice/plans_ran.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using ::testing::ElementsAre;

TEST(PlansRan, are_counted_by_length_and_name_in_the_order_of_their_first_passes) {
  PlansRan ran;
  for (const int64_t tokens : {256, 256, 88, 1, 1, 1}) ran.add(tokens, tokens == 1 ? "rows" : "sequence");
  ran.add(1, "layer");
  ran.add(256, "sequence");
  EXPECT_THAT(ran.list(), ElementsAre(PlanRan{256, "sequence", 3}, PlanRan{88, "sequence", 1}, PlanRan{1, "rows", 3},
                                      PlanRan{1, "layer", 1}));
  ran.clear();
  EXPECT_TRUE(ran.list().empty());
}

std::string described(const std::string& asked, const std::vector<PlanRan>& ran) { return describe_plans(asked, ran); }

TEST(PlansRan, are_told_where_they_are_not_what_was_asked_for) {
  EXPECT_EQ(described("tensor", {}), "tensor");
  EXPECT_EQ(described("tensor", {{256, "tensor", 1}, {1, "tensor", 9}}), "tensor");
  EXPECT_EQ(described("tensor", {{256, "rows", 1}, {1, "rows", 9}}), "tensor: rows");
  EXPECT_EQ(described("tensor", {{256, "tensor", 1}, {1, "rows", 9}}), "tensor: prefill tensor, decode rows");
  EXPECT_EQ(described("auto", {{256, "sequence", 2}, {88, "tensor", 1}, {1, "rows", 9}}),
            "auto: prefill sequence and tensor, decode rows");
  EXPECT_EQ(described("auto", {{1, "rows", 9}}), "auto: rows");
  EXPECT_EQ(described("tensor", {{kDecodeTokens + 1, "a", 1}, {kDecodeTokens, "b", 1}}), "tensor: prefill a, decode b");
}

}  // namespace
}  // namespace tandem
