// A line in which clients take turns.
#include "engine/run/serve/fair_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using ::testing::ElementsAre;

std::vector<int> all_of(FairLine<int>& line) {
  std::vector<int> order;
  while (auto next = line.pop()) order.push_back(next->second);
  return order;
}

TEST(FairLine, gives_one_clients_requests_in_their_order) {
  FairLine<int> line;
  for (int i = 0; i < 4; ++i) line.push("a", i);
  EXPECT_EQ(line.size(), 4);
  EXPECT_THAT(all_of(line), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(line.empty());
}

TEST(FairLine, lets_clients_take_turns) {
  FairLine<int> line;
  for (int i = 0; i < 3; ++i) line.push("many", i);
  line.push("one", 10);
  line.push("two", 20);
  line.push("two", 21);
  EXPECT_THAT(all_of(line), ElementsAre(0, 10, 20, 1, 21, 2));
}

// The first client has a text in work, so the other one is next, although it came later.
TEST(FairLine, prefers_who_has_the_fewest_in_work) {
  FairLine<int> line;
  line.push("a", 0);
  line.push("a", 1);
  line.push("b", 2);
  EXPECT_EQ(line.pop()->second, 0);
  EXPECT_EQ(line.pop()->second, 2);
  line.done("b");
  line.push("b", 3);
  EXPECT_EQ(line.pop()->second, 3) << "a's first one still runs";
  line.done("a");
  EXPECT_EQ(line.pop()->second, 1);
}

TEST(FairLine, alternates_between_clients_whose_requests_end_at_once) {
  FairLine<int> line;
  for (const int i : {0, 1}) line.push("a", i);
  for (const int i : {10, 11}) line.push("b", i);
  std::vector<int> order;
  while (auto next = line.pop()) {
    order.push_back(next->second);
    line.done(next->first);
  }
  EXPECT_THAT(order, ElementsAre(0, 10, 1, 11));
}

TEST(FairLine, gives_back_what_leaves_it) {
  FairLine<int> line;
  for (int i = 0; i < 5; ++i) line.push("a", i);
  EXPECT_THAT(line.remove_if([](int each) { return each % 2 == 1; }), ElementsAre(1, 3));
  EXPECT_THAT(all_of(line), ElementsAre(0, 2, 4));
  line.done("nobody");
}

}  // namespace
}  // namespace tandem
