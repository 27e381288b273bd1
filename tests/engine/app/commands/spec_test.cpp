// `tandem spec` as a whole program. The rules have tests of their own (tests/engine/draft/, graph_switch_test.cpp).
// These tests check keys, places and errors.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Spec : public ::testing::Test {
 protected:
  // The result of one case.
  json result(const std::string& part, const json& one) const {
    const json answer = json_of({"spec", part, "--cases", cases({one})});
    EXPECT_EQ(answer.size(), 1u);
    EXPECT_EQ(answer["results"].size(), 1u);
    return answer["results"][0];
  }
  std::string cases(const std::vector<json>& list) const {
    return folder_.write("cases.json", json{{"cases", list}}.dump());
  }
  const Folder folder_;
};

TEST_F(Spec, drafts_what_followed_the_longest_match) {
  const json context = {{"context", {1, 2, 3, 9, 1, 2}},
                        {"history", {{5, 1, 2, 7}, {1, 2, 8}}},
                        {"max", 3},
                        {"match_min", 1},
                        {"rule", "sdnpu"}};
  EXPECT_EQ(result("draft", context),
            json::parse(R"({"source": "context", "match": 2, "record": null, "end": 1, "draft": [3, 9, 1]})"));
  json history = context;
  history["context"] = {9, 5, 1, 2};
  EXPECT_EQ(result("draft", history),
            json::parse(R"({"source": "history", "match": 3, "record": 0, "end": 2, "draft": [7]})"));
  json none = context;
  none["match_min"] = 3;
  EXPECT_EQ(result("draft", none),
            json::parse(R"({"source": "none", "match": 0, "record": null, "end": null, "draft": []})"));
  json ends = context;
  ends["end_ids"] = {9};
  EXPECT_EQ(result("draft", ends)["draft"], json({3, 9}));
}

TEST_F(Spec, drafts_as_the_baselines_do) {
  json one = {{"context", {1, 2, 3, 4, 1, 2, 5, 1, 2}}, {"max", 4}, {"rule", "pld"}};
  EXPECT_EQ(result("draft", one)["draft"], json({3, 4, 1, 2}));
  one["rule"] = "sam";
  one["max"] = 40;
  EXPECT_EQ(result("draft", one)["draft"], json({3, 4, 1, 2, 5, 1, 2}));
}

TEST_F(Spec, merges_candidates_into_a_ranked_tree) {
  const json one = {{"candidates", {{{"tokens", {5, 6}}, {"p", {0.5, 0.5}}}, {{"tokens", {7, 8}}, {"p", {0.4, 0.75}}}}},
                    {"cap", 3},
                    {"pass_us", {10, 11, 12, 40}},
                    {"choices", {7, 0, 8, 6}}};
  EXPECT_EQ(result("merge", one), json::parse(R"({"ids": [5, 7, 8], "parents": [-1, -1, 1], "positions": [0, 0, 1],
      "weights": [0.5, 0.4, 0.30000000000000004], "mask": [[1, 0, 0], [0, 1, 0], [0, 1, 1]],
      "run": 2, "path": [1], "next": 8})"));
  json unchosen = one;
  unchosen.erase("choices");
  EXPECT_FALSE(result("merge", unchosen).contains("path"));
}

TEST_F(Spec, says_what_a_rejected_draft_still_has) {
  EXPECT_EQ(
      result("reuse", {{"draft", {1, 2, 3, 4}}, {"predicted", {1, 9, 3, 4, 5}}, {"expected_text", {1, 9, 3, 4, 6}}}),
      json::parse(R"({"accepted": 1, "next": 9, "run": {"begin": 3, "length": 2}, "kept": [3, 4],
                            "class": "synonym", "segment": {"begin": 3, "length": 2, "inserted": 1}})"));
  EXPECT_EQ(result("reuse", {{"draft", {1, 2}}, {"predicted", {1, 2, 3}}, {"expected_text", {1, 2, 3}}}),
            json::parse(R"({"accepted": 2, "next": 3, "run": null, "kept": [], "class": "none", "segment": null})"));
}

TEST_F(Spec, lists_the_runs_that_each_step_offers) {
  const json steps = {
      {{"drafts", 4}, {"run", 3}}, {{"drafts", {1, 2}}, {"run", {7, 8}}}, {{"drafts", 6}, {"run", nullptr}}};
  EXPECT_EQ(result("reuse", {{"limit", 10}, {"steps", steps}})["alive"], json::parse("[[], [0], [1]]"));
}

TEST_F(Spec, schedules_the_loads_of_the_decode_graphs) {
  const json one = {{"chunks", 2},
                    {"prefill", {10, 10, 10, 10, 10, 10}},
                    {"decode", {10, 10, 10, 10, 10, 10}},
                    {"load", {20, 20, 20, 20, 20, 20}}};
  const json schedule = result("schedule", one);
  EXPECT_EQ(schedule["start"], 1);
  EXPECT_EQ(schedule["switched"], json({3, 6}));
  EXPECT_EQ(schedule["rounds"][0], json::parse(R"({"chunk": 1, "block": 6, "k": 2, "load": 20})"));
  EXPECT_EQ(schedule["rounds"][5], json::parse(R"({"chunk": 2, "block": 1, "k": 2, "load": 20})"));
  EXPECT_EQ(schedule["prefill_end"], 120);
  EXPECT_EQ(schedule["switch_end"], 120);
  EXPECT_EQ(schedule["end"], 120);
  EXPECT_EQ(schedule["synchronous_end"], 240);
  EXPECT_EQ(schedule["asynchronous_end"], 190);
  EXPECT_EQ(schedule["best"], "progressive");
}

TEST_F(Spec, prints_a_line_for_each_case_without_json) {
  const json one = {{"context", {1, 1}}, {"max", 1}, {"rule", "sdnpu"}};
  const Ended ended = tandem({"spec", "draft", "--cases", cases({one, one})});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(std::ranges::count(ended.out, '\n'), 2);
}

// Each of these cases has one fault. The message names the case and the key.
TEST_F(Spec, names_the_case_and_the_key_of_a_fault) {
  struct Fault {
    std::string part, good, key;
    json value;
  };
  const std::string
      draft = R"({"context": [1], "history": [], "max": 1, "match_min": 1, "rule": "sdnpu"})",
      merge = R"({"candidates": [{"tokens": [1], "p": [0.5]}], "cap": 1, "pass_us": [1, 2], "choices": [1, 2]})",
      reuse = R"({"draft": [1], "predicted": [1, 2], "expected_text": [1]})", alive = R"({"limit": 3, "steps": []})",
      schedule = R"({"chunks": 1, "prefill": [1], "decode": [1], "load": [1]})";
  const std::vector<Fault> faults = {
      {"draft", draft, "rule", "eagle"},
      {"draft", draft, "max", -1},
      {"draft", draft, "max", 1.5},
      {"draft", draft, "context", {-1}},
      {"draft", draft, "context", {4294967296}},
      {"draft", draft, "history", {1}},
      {"draft", draft, "other", 1},
      {"merge", merge, "candidates", {{{"tokens", {1}}, {"p", {1.5}}}}},
      {"merge", merge, "candidates", {{{"tokens", {1}}, {"p", {0.5, 0.5}}}}},
      {"merge", merge, "candidates", {{{"tokens", {1}}, {"p", {0.5}}, {"q", 1}}}},
      {"merge", merge, "candidates", 3},
      {"merge", merge, "cap", 64},
      {"merge", merge, "pass_us", {1}},
      {"merge", merge, "pass_us", {1, 0}},
      {"merge", merge, "choices", json::array()},
      {"reuse", reuse, "predicted", {1}},
      {"reuse", reuse, "kept", {1}},
      {"reuse", alive, "limit", -1},
      {"reuse", alive, "steps", {{{"drafts", -1}, {"run", 1}}}},
      {"reuse", alive, "steps", {{{"drafts", 1}, {"run", 2147483647}}}},
      {"reuse", alive, "draft", {1}},
      {"schedule", schedule, "chunks", 0},
      {"schedule", schedule, "load", {1, 2}},
      {"schedule", schedule, "decode", {-1}},
      {"schedule", schedule, "prefill", json::array()},
  };
  for (const Fault& fault : faults) {
    json one = json::parse(fault.good);
    EXPECT_EQ(tandem({"spec", fault.part, "--cases", cases({one})}).status, 0) << fault.good;
    one[fault.key] = fault.value;
    const Ended ended = tandem({"spec", fault.part, "--cases", cases({json::parse(fault.good), one})});
    EXPECT_EQ(ended.status, 1) << one;
    EXPECT_THAT(ended.err, HasSubstr("case 1: " + fault.key)) << one;
    EXPECT_THAT(ended.out, IsEmpty()) << one;
  }
}

// A parser takes the last of equal keys, so the answer would be that of another case than the one that a reader sees.
TEST_F(Spec, refuses_a_key_that_is_there_twice) {
  const std::string candidate = R"({"tokens": [1], "p": [0.5]})",
                    merge = R"({"candidates": [], "cap": 0, "pass_us": [1]})";
  const auto faults = {
      std::pair{R"({"cases": [)" + merge + R"(, {"cap": 0, "candidates": [], "cap": 0, "pass_us": [1]}]})",
                ": case 1: cap"},
      {R"({"cases": [{"candidates": [)" + candidate + R"(, {"tokens": [1], "p": [0.5], "p": [0.4]}]}]})",
       ": case 0: candidates[1]: p"},
      {R"({"cases": [{"other": {"a": {"b": 1, "b": 1}}}]})", ": case 0: other: a: b"},
      {R"({"cases": [], "cases": []})", "twice.json: cases"}};
  for (const auto& [content, named] : faults) {
    const Ended ended = tandem({"spec", "merge", "--cases", folder_.write("twice.json", content)});
    EXPECT_EQ(ended.status, 1) << content;
    EXPECT_THAT(ended.err, HasSubstr(named)) << content;
    EXPECT_THAT(ended.out, IsEmpty()) << content;
  }
  const std::string once =
      R"({"cases": [{"candidates": [)" + candidate + ", " + candidate + R"(], "cap": 0, "pass_us": [1]}]})";
  const Ended ended = tandem({"spec", "merge", "--cases", folder_.write("once.json", once)});
  EXPECT_EQ(ended.status, 0) << ended.err;
}

TEST_F(Spec, says_where_a_text_stops_being_cases) {
  for (const auto& [content, named] :
       {std::pair{R"({"cases": [{"context": [1]}, {"context": [1, }]})", "bad.json: case 1: context[1]."},
        {R"({"cases": [{"candidates": [{"tokens": [1], "p": [1e999]}]}]})", "bad.json: case 0: candidates[0]: p[0]."},
        {R"({"cases": [{"cap": 01}]})", "bad.json: case 0: cap."},
        {"no cases", "bad.json. expected JSON"}}) {
    const Ended ended = tandem({"spec", "merge", "--cases", folder_.write("bad.json", content)});
    EXPECT_EQ(ended.status, 1) << content;
    EXPECT_THAT(ended.err, HasSubstr(named)) << content;
  }
  const std::string deep = R"({"cases": [)" + std::string(1 << 20, '[');
  EXPECT_THAT(tandem({"spec", "merge", "--cases", folder_.write("bad.json", deep)}).err, HasSubstr("expected JSON"));
}

TEST_F(Spec, refuses_a_file_that_has_no_cases) {
  for (const char* content : {"", "[]", "{}", R"({"cases": 1})", R"({"cases": [], "more": 1})", R"({"cases": [1]})"}) {
    const Ended ended = tandem({"spec", "draft", "--cases", folder_.write("bad.json", content), "--json"});
    EXPECT_EQ(ended.status, 1) << content;
    EXPECT_TRUE(json::parse(ended.out).contains("error")) << content;
  }
  const std::string more = folder_.write("more.json", R"({"cases": [], "limit": 1})");
  EXPECT_THAT(tandem({"spec", "draft", "--cases", more}).err, HasSubstr("more.json: limit. No such key"));
  EXPECT_EQ(tandem({"spec", "draft", "--cases", folder_.file("missing.json")}).status, 1);
  EXPECT_EQ(tandem({"spec", "draft"}).status, 2);
  EXPECT_EQ(tandem({"spec", "guess"}).status, 2);
  EXPECT_EQ(tandem({"spec"}).status, 2);
}

}  // namespace
}  // namespace tandem::testing
