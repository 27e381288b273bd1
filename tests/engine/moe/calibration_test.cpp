// A written calibration is read back unchanged, and other files are refused.
#include "engine/moe/calibration.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/moe/routing_trace.h"
#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

Calibration small() {
  Calibration calibration{"a model", empty_counts(4, 2, {1, 2})};
  calibration.counts.tokens = 5;
  calibration.counts.counts = {{5, 5, 0, 0}, {1, 2, 3, 4}};
  return calibration;
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string json = calibration_json(small());
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(Calibration, is_read_back_as_it_was_written) {
  EXPECT_EQ(parse_calibration(calibration_json(small()), "file"), small());
  EXPECT_NE(calibration_json(small()).find("\"imbalance\": 2.0"), std::string::npos);  // 5 with a mean of 2.5
}

TEST(Calibration, counts_the_tokens_of_a_trace) {
  const testing::ScratchFolder folder;
  const std::string file = folder.file("trace.jsonl");
  const RoutingTrace trace{"a model", 4, 2, {1, 2}, {{0, 0, {{0, 1}, {2, 3}}, {}}, {1, 0, {{0, 3}, {3, 1}}, {}}}};
  std::ofstream lines(file);
  write_routing_trace(trace, lines);
  lines.close();
  const Calibration counted = read_calibration(file);
  EXPECT_EQ(counted.model, "a model");
  EXPECT_EQ(counted.counts.tokens, 2);
  EXPECT_EQ(counted.counts.counts, (std::vector<ExpertCounts>{{2, 1, 0, 1}, {0, 1, 1, 2}}));
  std::ofstream(file) << trace_head("a model", empty_counts(4, 2, {1, 2}), 0, 0);
  EXPECT_THROW(read_calibration(file), Error) << "no token";
}

TEST(Calibration, that_is_none_is_refused) {
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"schema\": 1", "\"schema\": 2"},
                                                        {"\"experts\": 4", "\"experts\": 0"},
                                                        {"\"experts\": 4", "\"experts\": 5"},
                                                        {"\"experts_used\": 2", "\"experts_used\": 5"},
                                                        {"\"tokens\": 5", "\"tokens\": 6"},
                                                        {"\"layer\": 1", "\"layer\": -1"},
                                                        {"\"model\": \"a model\"", "\"model\": 7"},
                                                        {"\"layers\"", "\"floors\""}})
    EXPECT_THROW(parse_calibration(replaced(from, to), "file"), Error) << from << " -> " << to;
  EXPECT_THROW(parse_calibration("[]", "file"), Error);
  EXPECT_THROW(parse_calibration("{", "file"), Error);
}

TEST(Calibration, of_another_model_is_refused) {
  const RoutingCounts shape = empty_counts(4, 2, {1, 2});
  EXPECT_NO_THROW(require_same_model(small(), "a model", shape, "file"));
  EXPECT_THROW(require_same_model(small(), "another", shape, "file"), Error);
  EXPECT_THROW(require_same_model(small(), "a model", empty_counts(8, 2, {1, 2}), "file"), Error);
  EXPECT_THROW(require_same_model(small(), "a model", empty_counts(4, 1, {1, 2}), "file"), Error);
  EXPECT_THROW(require_same_model(small(), "a model", empty_counts(4, 2, {1, 3}), "file"), Error);
}

}  // namespace
}  // namespace tandem
