// Routing traces: a written trace is read back, and a wrong line is named.
#include "engine/moe/routing_trace.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sync/error.h"
#include "tests/support/data.h"

namespace tandem {
namespace {

constexpr const char* kMeta = R"({"type":"meta","model":"m","experts":4,"top_k":2,"moe_layers":[1,3]})";

RoutingTrace parsed(const std::string& lines) {
  std::istringstream text(lines);
  return parse_routing_trace(text, "trace");
}

std::string problem_with(const std::string& lines) {
  try {
    parsed(lines);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RoutingTrace, is_read_back_as_it_was_written) {
  const RoutingTrace trace{
      "m", 4, 2, {1, 3}, {{0, 0, {{0, 3}, {2, 1}}, {{0.5f, 0.25f}, {1, 0}}, {}}, {1, 7, {{1, 2}, {3, 0}}, {}}}};
  std::ostringstream lines;
  write_routing_trace(trace, lines);
  const RoutingTrace back = parsed(lines.str());
  EXPECT_EQ(back.model, "m");
  EXPECT_EQ(back.layers, trace.layers);
  EXPECT_EQ(back.tokens, trace.tokens);
  const std::vector<RoutingCounts> counts = counts_by_sequence(back);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].tokens, 1);
  EXPECT_EQ(counts[0].counts[0], (ExpertCounts{1, 0, 0, 1}));
  EXPECT_EQ(counts[1].counts[0], (ExpertCounts{0, 1, 1, 0}));
  EXPECT_EQ(counts[1].counts[1], (ExpertCounts{1, 0, 0, 1}));
}

std::string with_line(std::string lines, const char* line) { return lines.append(1, '\n').append(line); }

TEST(RoutingTrace, names_the_line_that_is_wrong) {
  const std::string meta = std::string(kMeta).append(1, '\n'), good = R"({"seq":0,"pos":0,"experts":[[0,1],[2,3]]})";
  EXPECT_EQ(problem_with(meta + good), "");
  EXPECT_NE(problem_with(good).find("line 1"), std::string::npos);
  EXPECT_NE(problem_with("").find("no line of type meta"), std::string::npos);
  for (const char* bad :
       {"{", "[]", R"({"seq":0,"pos":0})", R"({"seq":0,"pos":0,"experts":[[0,1]]})",
        R"({"seq":0,"pos":0,"experts":[[0,1],[2]]})", R"({"seq":0,"pos":0,"experts":[[0,1],[2,4]]})",
        R"({"seq":0,"pos":0,"experts":[[0,1],[2,2]]})", R"({"seq":-1,"pos":0,"experts":[[0,1],[2,3]]})",
        R"({"seq":0,"pos":0,"experts":[[0,1],[2,3]],"weights":[[1,1]]})",
        R"({"seq":0,"pos":0,"experts":[[0,1],[2,3]],"weights":[[1e300,1],[1,1]]})"}) {
    SCOPED_TRACE(bad);
    EXPECT_NE(problem_with(with_line(meta + good, bad)).find("line 3"), std::string::npos);
  }
  for (const char* bad : {R"({"type":"meta","experts":0,"top_k":1,"moe_layers":[0]})",
                          R"({"type":"meta","experts":4,"top_k":5,"moe_layers":[0]})",
                          R"({"type":"meta","experts":4,"top_k":1,"moe_layers":[]})",
                          R"({"type":"meta","experts":4,"top_k":1,"moe_layers":[2,2]})", R"({"type":"token"})"}) {
    SCOPED_TRACE(bad);
    EXPECT_NE(problem_with(bad).find("line 1"), std::string::npos);
  }
}

// 8 sequences of 256 tokens make 2,048 tokens. Each token has six of 64 experts in each of eight layers.
TEST(RoutingTrace, of_flame_moe_is_read) {
  const auto path = testing::test_data("moe-traces/flame-moe-290m/prefill_topk.jsonl");
  if (!path) SKIP_FOR_WANT_OF(data, "no moe-traces");
  const std::vector<RoutingCounts> sequences = counts_by_sequence(read_routing_trace(*path));
  ASSERT_EQ(sequences.size(), 8u);
  RoutingCounts counts = sequences.front();
  for (size_t i = 1; i < sequences.size(); ++i) counts = sum_of(counts, sequences[i]);
  EXPECT_EQ(counts.tokens, 2048);
  EXPECT_EQ(counts.experts, 64);
  EXPECT_EQ(counts.used, 6);
  EXPECT_EQ(counts.layers, (std::vector<int64_t>{2, 3, 4, 5, 6, 7, 8, 9}));
  for (const ExpertCounts& layer : counts.counts) {
    int64_t sum = 0;
    for (const int64_t count : layer) sum += count;
    EXPECT_EQ(sum, counts.tokens * 6);
    EXPECT_GT(imbalance(layer), 1.0);
  }
}

}  // namespace
}  // namespace tandem
