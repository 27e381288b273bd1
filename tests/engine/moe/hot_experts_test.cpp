// Counts of used experts are read back unchanged, and other files are refused.
#include "engine/moe/hot_experts.h"

#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

HotExperts small() { return {"0123.packed", {1, 2}, {{5, 4, 0, 1}, {0, 2, 3, 5}}}; }

std::string replaced(const std::string& from, const std::string& to) {
  std::string json = hot_experts_json(small());
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << json;
  return json.replace(at, from.size(), to);
}

TEST(HotExperts, are_read_back_as_they_were_written) {
  EXPECT_EQ(parse_hot_experts(hot_experts_json(small()), "file"), small());
}

TEST(HotExperts, that_are_damaged_are_refused) {
  const std::pair<const char*, const char*> damages[] = {{"\"schema\":1", "\"schema\":2"},
                                                         {"\"packed\":\"0123.packed\"", "\"packed\":7"},
                                                         {"\"layer\":1", "\"layer\":3"},
                                                         {"\"layer\":2", "\"layer\":-2"},
                                                         {"\"choices\":10", "\"choices\":11"},
                                                         {"[5,4,0,1]", "[5,4,0,2]"},
                                                         {"[5,4,0,1]", "[]"},
                                                         {"[5,4,0,1]", "[5,4,0.5,0.5]"},
                                                         {"\"uses\"", "\"used\""},
                                                         {"\"layers\"", "\"floors\""}};
  for (const auto& [from, to] : damages)
    EXPECT_THROW(parse_hot_experts(replaced(from, to), "file"), Error) << from << " -> " << to;
  for (const char* text : {"", "{", "[]", "7", "{\"schema\":1}"})
    EXPECT_THROW(parse_hot_experts(text, "file"), Error) << text;
  const std::string whole = hot_experts_json(small());
  for (size_t bytes = 0; bytes + 2 < whole.size(); ++bytes)
    EXPECT_THROW(parse_hot_experts(whole.substr(0, bytes), "file"), Error) << bytes;
}

TEST(HotExperts, of_another_model_are_told_apart) {
  EXPECT_TRUE(of_one_model(small(), {"0123.packed", {1, 2}, {{0, 0, 0, 0}, {0, 0, 0, 0}}}));
  EXPECT_FALSE(of_one_model(small(), {"4567.packed", {1, 2}, {{0, 0, 0, 0}, {0, 0, 0, 0}}}));
  EXPECT_FALSE(of_one_model(small(), {"0123.packed", {1, 3}, {{0, 0, 0, 0}, {0, 0, 0, 0}}}));
  EXPECT_FALSE(of_one_model(small(), {"0123.packed", {1, 2}, {{0, 0, 0, 0}, {0, 0, 0}}}));
}

TEST(HotExperts, of_earlier_runs_count_half) {
  const HotExperts now{"0123.packed", {1, 2}, {{0, 1, 7, 0}, {1, 0, 0, 0}}};
  EXPECT_EQ(uses_behind(small(), now).uses, (std::vector<ExpertCounts>{{2, 3, 7, 0}, {1, 1, 1, 2}}));
  EXPECT_TRUE(has_choices(now));
  EXPECT_FALSE(has_choices({"0123.packed", {1}, {{0, 0}}}));
}

}  // namespace
}  // namespace tandem
