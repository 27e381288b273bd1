// `tandem calibrate-moe` and `tandem trace-moe` as whole programs: what they count and record of a small made-up
// mixture of experts, and what they refuse.
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class ExpertUse : public ::testing::Test {
 protected:
  const Folder folder_;
  const std::string model_ = toy_mixture(folder_, 2, 128);
};

// Expects that each layer counts all choices of the tokens that were read.
void expect_whole_counts(const json& calibration, int64_t tokens) {
  EXPECT_EQ(calibration.at("tokens"), tokens);
  ASSERT_EQ(calibration.at("layers").size(), 2u);
  for (const json& layer : calibration.at("layers")) {
    const auto counts = layer.at("counts").get<std::vector<int64_t>>();
    EXPECT_EQ(counts.size(), 8u);
    EXPECT_EQ(std::reduce(counts.begin(), counts.end()), tokens * 2);
    const double busiest = static_cast<double>(*std::ranges::max_element(counts));
    EXPECT_NEAR(layer.at("imbalance").get<double>(), busiest * 8 / static_cast<double>(tokens * 2), 1e-9);
    EXPECT_EQ(counts[layer.at("popularity").at(0).get<size_t>()], static_cast<int64_t>(busiest));
  }
}

TEST_F(ExpertUse, is_counted_window_by_window) {
  const std::string ids = folder_.write("ids", "5 6 7 8 9\n\n10 11 12\n"), out = folder_.file("calibration.json");
  const json answer = json_of({"calibrate-moe", "-m", model_, "--ids", ids, "-o", out, "--device", "host", "-t", "1"});
  expect_whole_counts(answer, 8);
  const json kept = json::parse(content_of(out));
  expect_whole_counts(kept, 8);
  EXPECT_EQ(kept.at("model"), "toy, random weights");
  EXPECT_EQ(answer.at("router").at("decisions"), 16);  // 8 tokens in 2 layers
  // A window does not depend on the one before it: each window alone has the same counts.
  const auto first = json_of({"calibrate-moe", "-m", model_, "--ids", folder_.write("a", "5 6 7 8 9"), "-o",
                              folder_.file("a.json"), "--device", "host"});
  const auto second = json_of({"calibrate-moe", "-m", model_, "--ids", folder_.write("b", "10 11 12"), "-o",
                               folder_.file("b.json"), "--device", "host"});
  for (size_t l = 0; l < 2; ++l) {
    for (size_t e = 0; e < 8; ++e) {
      const auto count = [&](const json& of) { return of.at("layers").at(l).at("counts").at(e).get<int64_t>(); };
      EXPECT_EQ(count(first) + count(second), count(kept));
    }
  }
}

TEST_F(ExpertUse, of_texts_is_compared) {
  const std::string one =
                        folder_.write("one.txt", std::string(400, 'a') + " and something else " + std::string(90, 'b')),
                    two = folder_.write("two.txt", "quite another text, with other letters: xyz xyz xyz");
  const json answer = json_of({"calibrate-moe", "-m", model_, "-f", one, "-f", two, "--window", "32", "-o",
                               folder_.file("c.json"), "--device", "host"});
  std::set<std::string> judged;
  for (const json& row : answer.at("overlap")) {
    EXPECT_EQ(row.at("k"), 4);  // counting 8 of 8 experts would show nothing
    EXPECT_GE(row.at("overlap").get<double>(), 0.0);
    EXPECT_LE(row.at("overlap").get<double>(), 1.0);
    judged.insert(row.at("calibrated_on").get<std::string>() + " " + row.at("judged_on").get<std::string>());
  }
  EXPECT_TRUE(judged.contains(one + " " + two));
  EXPECT_TRUE(judged.contains(two + " " + one));
  EXPECT_TRUE(judged.contains(one + " " + one + ", windows not seen"));
  const Ended text =
      tandem({"calibrate-moe", "-m", model_, "-f", two, "-o", folder_.file("d.json"), "--device", "host", "-q"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("imbalance"));
}

TEST_F(ExpertUse, is_recorded_token_by_token) {
  const std::string ids = folder_.write("ids", "5 6 7\n8 9\n"), out = folder_.file("trace.jsonl");
  const Ended ended = tandem({"trace-moe", "-m", model_, "--ids", ids, "-o", out, "--device", "host", "-v"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("5 tokens of 2 windows"));
  std::istringstream lines(content_of(out));
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line).at("experts"), 8);
  std::vector<std::pair<int, int>> places;
  while (std::getline(lines, line)) {
    const json token = json::parse(line);
    places.emplace_back(token.at("seq"), token.at("pos"));
    for (const json& weights : token.at("weights"))
      EXPECT_NEAR(weights.at(0).get<double>() + weights.at(1).get<double>(), 1.0,
                  1e-5);  // this architecture normalises the weights of the chosen experts
  }
  EXPECT_EQ(places, (std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}}));
  EXPECT_EQ(json_of({"trace-moe", "-m", model_, "-f", folder_.write("t", "abc"), "--window", "16", "-t", "1", "-q",
                     "-o", folder_.file("t.jsonl"), "--device", "host"})
                .at("sequences"),
            1);
}

// Scores add up to 1, and the chosen experts are those of the largest.
TEST_F(ExpertUse, is_recorded_with_all_scores_on_demand) {
  const std::string ids = folder_.write("ids", "5 6 7\n8 9\n"), out = folder_.file("trace.jsonl");
  json_of({"trace-moe", "-m", model_, "--ids", ids, "-o", out, "--device", "host", "--scores"});
  std::istringstream lines(content_of(out));
  std::string line;
  std::getline(lines, line);
  int tokens = 0;
  while (std::getline(lines, line)) {
    const json token = json::parse(line);
    ASSERT_EQ(token.at("scores").size(), 2u);
    for (size_t l = 0; l < 2; ++l) {
      const auto scores = token.at("scores").at(l).get<std::vector<double>>();
      const auto chosen = token.at("experts").at(l).get<std::vector<size_t>>();
      ASSERT_EQ(scores.size(), 8u);
      EXPECT_NEAR(std::reduce(scores.begin(), scores.end()), 1.0, 1e-5);
      std::vector<double> falling = scores;
      std::ranges::sort(falling, std::greater());
      EXPECT_EQ(scores[chosen[0]] + scores[chosen[1]], falling[0] + falling[1]);
    }
    ++tokens;
  }
  EXPECT_EQ(tokens, 5);
  EXPECT_EQ(json_of({"replay-moe", out, "--policy", "mrs"}).at("trace").at("has_scores"), true);
}

// Two layers: the first guesses the second, and nothing lies two layers ahead. of = tokens * k * (layers - distance).
TEST_F(ExpertUse, of_later_layers_is_guessed) {
  const std::string ids = folder_.write("ids", "5 6 7 8 9 10\n8 9\n");
  const json guess =
      json_of({"trace-moe", "-m", model_, "--ids", ids, "-o", folder_.file("t"), "--device", "host", "--guess", "2"})
          .at("guess");
  EXPECT_EQ(guess.at("1").at("of"), 8 * 2 * 1);
  EXPECT_GE(guess.at("1").at("hits"), 0);
  EXPECT_LE(guess.at("1").at("hits"), 16);
  EXPECT_EQ(guess.at("2"), json::parse(R"({"hits": 0, "of": 0})"));
  EXPECT_EQ(tandem({"trace-moe", "-m", model_, "--ids", ids, "-o", folder_.file("t"), "--guess", "-1"}).status, 2);
  // Guesses change nothing else.
  json_of({"trace-moe", "-m", model_, "--ids", ids, "-o", folder_.file("plain"), "--device", "host"});
  EXPECT_EQ(content_of(folder_.file("t")), content_of(folder_.file("plain")));
}

// The lines of a trace file, by sequence and position, without the meta line.
std::map<std::pair<int, int>, json> tokens_in(const std::string& path) {
  std::map<std::pair<int, int>, json> tokens;
  std::istringstream lines(content_of(path));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    json token = json::parse(line);
    token["weights"] = token.at("weights").get<std::vector<std::vector<float>>>();  // however many digits were written
    const std::pair<int, int> place{token.at("seq"), token.at("pos")};
    EXPECT_FALSE(tokens.contains(place)) << "once";
    tokens[place] = token;
  }
  return tokens;
}

// A prompt's tokens get no logits, and still every layer says where they go. It is the same as in trace-moe.
TEST_F(ExpertUse, of_a_run_is_that_of_a_trace_of_its_tokens) {
  const std::string out = folder_.file("run.jsonl"), traced = folder_.file("trace.jsonl");
  const json answer = json_of(Arguments{"run", "-m", model_, "-p", "abcdefgh", "-n", "6", "--temp", "0", "--ignore-eos",
                                        "--chunk", "3", "--spec", "none", "--routing-out", out} +
                              on_host());
  auto all = answer.at("prompt_ids").get<std::vector<int>>();
  for (const json& id : answer.at("ids")) all.push_back(id);
  all.pop_back();  // the last token is written and never read
  std::string ids;
  for (const int id : all) ids += std::to_string(id) + " ";
  json_of({"trace-moe", "-m", model_, "--ids", folder_.write("ids", ids), "-o", traced, "--device", "host"});
  const auto ran = tokens_in(out), wanted = tokens_in(traced);
  EXPECT_EQ(ran.size(), all.size());
  EXPECT_EQ(ran, wanted);
  // Recording changes no text.
  const json plain = json_of(Arguments{"run", "-m", model_, "-p", "abcdefgh", "-n", "6", "--temp", "0", "--ignore-eos",
                                       "--chunk", "3", "--spec", "none"} +
                             on_host());
  EXPECT_EQ(plain.at("ids"), answer.at("ids"));
}

// The first text ends early, and the others move up in the batch. Each keeps its number, and its tokens follow
// each other.
TEST_F(ExpertUse, of_many_texts_is_told_apart) {
  const std::string out = folder_.file("many.jsonl"), lines = folder_.write("lines", R"({"prompt": "ab", "n_predict": 2}
{"prompt": "xyzuvw", "n_predict": 9}
{"prompt": "klmnop", "n_predict": 5}
)");
  const Ended ended = tandem(Arguments{"run", "-m", model_, "--jsonl", lines, "--temp", "0", "--ignore-eos", "--spec",
                                       "none", "--routing-out", out, "-q"} +
                             on_host());
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::map<int, std::vector<int>> places;
  for (const auto& [place, token] : tokens_in(out)) places[place.first].push_back(place.second);
  ASSERT_EQ(places.size(), 3u);
  std::set<size_t> lengths;
  for (const auto& [sequence, positions] : places) {
    EXPECT_EQ(positions.back() - positions.front() + 1, std::ssize(positions)) << "sequence " << sequence;
    lengths.insert(positions.size());
  }
  EXPECT_EQ(lengths.size(), 3u) << "2, 5 and 9 tokens were written";
}

TEST_F(ExpertUse, of_evaluated_texts_is_recorded_for_each) {
  const std::string out = folder_.file("eval.jsonl"), lines = folder_.write("lines", R"({"prompt": "abcdef"}
{"prompt": "xyz"}
)");
  const Ended ended = tandem(Arguments{"eval", "-m", model_, "--jsonl", lines, "--routing-out", out, "-q"} + on_host());
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::set<int> sequences;
  for (const auto& [place, token] : tokens_in(out)) sequences.insert(place.first);
  EXPECT_EQ(sequences, (std::set<int>{0, 1}));
  EXPECT_EQ(json_of({"replay-moe", out, "--policy", "lru", "--reset", "each"}).at("trace").at("sequences"), 2);
  const std::string none = folder_.file("none.jsonl");
  const Ended dense =
      tandem(Arguments{"run", "-m", stories(), "-p", "a", "-n", "1", "--routing-out", none} + on_host());
  EXPECT_EQ(dense.status, 1);
  EXPECT_THAT(dense.err, HasSubstr("no experts"));
  EXPECT_FALSE(std::filesystem::exists(none));
}

// These commands take no plan. One of the named devices computes, and the counts are the same on all of them.
TEST_F(ExpertUse, is_counted_and_recorded_on_whatever_devices_are_named) {
  const std::string ids = folder_.write("ids", "5 6 7 8 9\n10 11 12\n");
  const auto counted = [&](const std::string& devices, const char* command, const std::string& out) {
    const Ended ended = tandem({command, "-m", model_, "--ids", ids, "-o", folder_.file(out), "--device", devices});
    EXPECT_EQ(ended.status, 0) << command << " " << devices << "\n" << ended.err;
    if (devices == "npu:0") {
      EXPECT_THAT(ended.err, HasSubstr("note: host computes what is counted"));
    }
    return content_of(folder_.file(out));
  };
  const std::string calibration = counted("host", "calibrate-moe", "host.json"),
                    trace = counted("host", "trace-moe", "host.jsonl");
  for (const char* devices : {"npu:0,host", "host,npu:0", "npu:0"}) {
    EXPECT_EQ(counted(devices, "calibrate-moe", "other.json"), calibration) << devices;
    EXPECT_EQ(counted(devices, "trace-moe", "other.jsonl"), trace) << devices;
  }
}

// A run of the model and its recorded routing produce the same calibration. A chip's plan takes either.
TEST_F(ExpertUse, of_recorded_routing_is_that_of_the_run) {
  const std::string ids = folder_.write("ids", "5 6 7 8\n9 10 11\n12 13\n"), trace = folder_.file("trace.jsonl");
  ASSERT_EQ(tandem({"trace-moe", "-m", model_, "--ids", ids, "-o", trace, "--device", "host", "-q"}).status, 0);
  const json run = json_of({"calibrate-moe", "-m", model_, "--ids", ids, "-o", folder_.file("a"), "--device", "host"});
  const json recorded = json_of({"calibrate-moe", "--routing", trace, "-o", folder_.file("b")});
  EXPECT_EQ(content_of(folder_.file("a")), content_of(folder_.file("b")));
  EXPECT_EQ(recorded.at("overlap").at(0).at("overlap"), run.at("overlap").at(0).at("overlap"));
  EXPECT_FALSE(recorded.contains("router")) << "no model ran";
  const Arguments on_chip = {"plan", "--shape", model_, "--soc", "m2-ultra", "--prompt", "64"};
  const json planned = json_of(on_chip + Arguments{"--calibration", folder_.file("b")});
  EXPECT_THAT(planned.at("experts").at("routing").get<std::string>(), HasSubstr("counted of 'toy"));
  EXPECT_EQ(json_of(on_chip).at("experts").at("routing"), "drawn");
  const Ended other =
      tandem({"plan", "--shape", "phi-3.5-moe", "--soc", "m2-ultra", "--calibration", folder_.file("b")});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("of other experts"));
  const std::string wrong = folder_.write("wrong", content_of(trace) + R"({"seq":0,"pos":9,"experts":[[0,8],[1,2]]})");
  EXPECT_THAT(tandem({"calibrate-moe", "--routing", wrong, "-o", folder_.file("c")}).err, HasSubstr("line"));
  EXPECT_EQ(tandem({"calibrate-moe", "--routing", trace, "--ids", ids, "-o", folder_.file("c")}).status, 2);
  EXPECT_EQ(tandem({"calibrate-moe", "--routing", trace, "-m", model_, "-o", folder_.file("c")}).status, 2);
  EXPECT_EQ(tandem({"calibrate-moe", "--ids", ids, "-o", folder_.file("c")}).status, 2) << "without a model";
}

TEST_F(ExpertUse, refuses_what_it_cannot_count) {
  const std::string out = folder_.file("no.json"), text = folder_.write("text", "abc");
  const Ended dense = tandem({"calibrate-moe", "-m", stories(), "-f", text, "-o", out, "--device", "host"});
  EXPECT_EQ(dense.status, 1);
  EXPECT_THAT(dense.err, HasSubstr("no experts"));
  EXPECT_EQ(tandem({"calibrate-moe", "-m", model_, "-o", out}).status, 2) << "without a text";
  EXPECT_EQ(tandem({"trace-moe", "-m", model_, "-f", text}).status, 2) << "without a file to write";
  const Ended empty =
      tandem({"trace-moe", "-m", model_, "-f", folder_.write("empty", ""), "-o", out, "--device", "host"});
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.err, HasSubstr("nothing to read"));
  const Ended beyond =
      tandem({"trace-moe", "-m", model_, "--ids", folder_.write("ids", "300"), "-o", out, "--device", "host"});
  EXPECT_EQ(beyond.status, 1);
  EXPECT_FALSE(std::filesystem::exists(out));
}

// `eval` reports how close the routers came to other choices.
TEST_F(ExpertUse, of_an_evaluation_is_judged) {
  const json answer = json_of(Arguments{"eval", "-m", model_, "--ids", folder_.write("ids", "5 6 7")} + on_host());
  EXPECT_EQ(answer.at("router").at("decisions"), 6);
  EXPECT_GE(answer.at("router").at("smallest_margin").get<double>(), 0.0);
  EXPECT_FALSE(
      json_of(Arguments{"eval", "-m", stories(), "--ids", folder_.write("i", "5 6 7")} + on_host()).contains("router"));
}

}  // namespace
}  // namespace tandem::testing
