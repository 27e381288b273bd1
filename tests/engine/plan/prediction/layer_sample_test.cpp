// A few layers stand for all: which layers, and the conclusions from their times.
#include "engine/plan/prediction/layer_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

struct Named {
  const char* name;
  int64_t layer = -1;
};

std::vector<Operator> named(std::initializer_list<Named> all) {
  std::vector<Operator> operators;
  for (const Named& each : all) operators.push_back({each.name, RmsNorm{}, each.layer});
  return operators;
}

std::vector<std::string> names_of(const std::vector<Operator>& operators) {
  std::vector<std::string> names;
  for (const Operator& op : operators) names.push_back(op.name);
  return names;
}

TEST(LayerSample, counts_layers_by_the_last_number) {
  EXPECT_EQ(layers_of(named({{"embed"}, {"a", 0}, {"b", 0}, {"a", 7}, {"output"}})), 8);
  EXPECT_EQ(layers_of(named({{"embed"}, {"output"}})), 0);
}

TEST(LayerSample, lies_evenly_among_all) {
  EXPECT_THAT(spread_layers(2, 30), ElementsAre(7, 22));
  EXPECT_THAT(spread_layers(4, 30), ElementsAre(3, 11, 18, 26));
  EXPECT_THAT(spread_layers(3, 3), ElementsAre(0, 1, 2));
  EXPECT_THROW(spread_layers(4, 3), Error);
}

TEST(LayerSample, keeps_what_belongs_to_no_layer_and_the_order) {
  const auto some = only_layers(named({{"embed"}, {"a0", 0}, {"a1", 1}, {"b1", 1}, {"a2", 2}, {"output"}}),
                                std::vector<int64_t>{1, 2});
  EXPECT_THAT(names_of(some), ElementsAre("embed", "a1", "b1", "a2", "output"));
}

// 3 s outside the layers and 2 s for each layer: two layers take 7 s, four take 11 s, thirty take 63 s.
TEST(LayerSample, says_what_all_layers_take) {
  EXPECT_DOUBLE_EQ(seconds_of_all({2, 7}, {4, 11}, 30), 63);
  EXPECT_DOUBLE_EQ(seconds_of_all({2, 7}, {4, 11}, 4), 11);
  EXPECT_DOUBLE_EQ(seconds_of_all({2, 7}, {4, 6}, 30), 6) << "more layers never take less";
  EXPECT_THROW(seconds_of_all({4, 7}, {4, 7}, 30), Error);
}

}  // namespace
}  // namespace tandem
