// Recorded routing in every form: what is read, what is assumed, and what is refused with its line.
#include "engine/moe/recorded_routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RecordedRouting recorded(const std::string& text, const RoutingHints& hints = {}) {
  std::istringstream lines(text);
  return read_recorded_routing(lines, "file", hints);
}

std::string refusal_of(const std::string& text, const RoutingHints& hints = {}) {
  try {
    recorded(text, hints);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kVllmMeta =
    R"({"type":"meta","model_id":"Some/Model","layers_logged":[0,2],"top_k":2,"num_experts":6})";

std::string vllm(const std::vector<std::string>& lines, const std::string& meta = kVllmMeta) {
  std::string text = meta;
  for (const std::string& line : lines) text += "\n" + line;
  return text + "\n";
}

TEST(RecordedRouting, of_this_program_is_recognised) {
  const std::string own =
      "\n{\"type\":\"meta\",\"model\":\"m\",\"experts\":4,\"top_k\":2,\"moe_layers\":[1]}\n"
      "{\"seq\":0,\"pos\":0,\"experts\":[[0,3]],\"scores\":[[0.4,0.1,0.2,0.3]]}\n";
  const RecordedRouting routing = recorded(own);
  EXPECT_EQ(routing.form, "tandem");
  EXPECT_EQ(routing.trace.experts, 4);
  ASSERT_EQ(routing.trace.tokens.size(), 1u);
  EXPECT_THAT(routing.trace.tokens[0].scores[0], ElementsAre(0.4f, 0.1f, 0.2f, 0.3f));
  EXPECT_THAT(refusal_of(own, {.experts = 8}), HasSubstr("--experts"));
  EXPECT_THAT(refusal_of(own + "{\"seq\":0,\"pos\":1,\"experts\":[[0,"), HasSubstr("line 4"));
  EXPECT_THAT(refusal_of(own + R"({"pos":1,"experts":[[0,1]]})"), HasSubstr("seq"));
}

TEST(RecordedRouting, of_vllm_is_put_together_from_its_layers) {
  const RecordedRouting routing = recorded(vllm({
      R"({"row":0,"layer":0,"topk_ids":[5,1],"topk_weights":[0.7,0.3]})",
      R"({"row":1,"layer":0,"topk_ids":[2,1],"topk_weights":[0.6,0.4]})",
      R"({"row":0,"layer":2,"topk_ids":[0,4],"topk_weights":[0.5,0.5]})",
      R"({"row":1,"layer":2,"topk_ids":[3,0],"topk_weights":[0.9,0.1]})",
  }));
  EXPECT_EQ(routing.form, "vllm");
  EXPECT_FALSE(routing.has_sequences);
  EXPECT_TRUE(routing.notes.empty());
  const RoutingTrace& trace = routing.trace;
  EXPECT_EQ(trace.model, "Some/Model");
  EXPECT_EQ(trace.experts, 6);
  EXPECT_EQ(trace.used, 2);
  EXPECT_THAT(trace.layers, ElementsAre(0, 2));
  ASSERT_EQ(trace.tokens.size(), 2u);
  EXPECT_THAT(trace.tokens[1].experts, ElementsAre(ElementsAre(2, 1), ElementsAre(3, 0)));
  EXPECT_THAT(trace.tokens[1].weights[1], ElementsAre(0.9f, 0.1f));
  EXPECT_EQ(trace.tokens[1].position, 1);
}

TEST(RecordedRouting, of_vllm_with_requests_has_sequences) {
  const std::string meta = R"({"type":"meta"})";
  const RecordedRouting routing = recorded(vllm({R"({"req_id":"a","token_idx":0,"layer":0,"topk_ids":[5,1]})",
                                                 R"({"req_id":"b","token_idx":0,"layer":0,"topk_ids":[2,1]})",
                                                 R"({"req_id":"a","token_idx":1,"layer":0,"topk_ids":[3,1]})"},
                                                meta));
  EXPECT_TRUE(routing.has_sequences);
  EXPECT_EQ(routing.trace.tokens[1].sequence, 1);
  EXPECT_EQ(routing.trace.tokens[2].sequence, 0);
  EXPECT_EQ(routing.trace.tokens[2].position, 1);
  EXPECT_TRUE(routing.trace.tokens[0].weights.empty());
  EXPECT_EQ(routing.trace.experts, 6);
  ASSERT_EQ(routing.notes.size(), 1u);
  EXPECT_THAT(routing.notes[0], HasSubstr("largest id"));
}

TEST(RecordedRouting, of_vllm_takes_the_number_of_experts_that_the_user_says) {
  const std::string text =
      vllm({R"({"row":0,"layer":0,"topk_ids":[5,1]})"}, R"({"type":"meta","layers_logged":[0],"top_k":2})");
  EXPECT_EQ(recorded(text).trace.experts, 6);
  EXPECT_EQ(recorded(text, {.experts = 60}).trace.experts, 60);
  EXPECT_TRUE(recorded(text, {.experts = 60}).notes.empty());
  EXPECT_THAT(refusal_of(text, {.experts = 5}), HasSubstr("expert 5 is not one of 5"));
}

TEST(RecordedRouting, of_vllm_names_the_line_or_the_layer_that_is_wrong) {
  const std::string a = R"({"row":0,"layer":0,"topk_ids":[5,1]})", b = R"({"row":0,"layer":2,"topk_ids":[0,4]})";
  EXPECT_EQ(refusal_of(vllm({a, b})), "");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"({"row":1,"layer":0,"topk_ids":[5,6]})", "expert 6 is not one of 6"},
      {R"({"row":1,"layer":0,"topk_ids":[5]})", "1 experts, others have 2"},
      {R"({"row":1,"layer":0,"topk_ids":[5,5]})", "one expert twice"},
      {R"({"row":1,"layer":0,"topk_ids":[5,-1]})", "topk_ids is no list of experts from 0 to 4095"},
      {R"({"row":1,"layer":0,"topk_ids":[]})", "topk_ids"},
      {R"({"row":1,"layer":0})", "topk_ids"},
      {R"({"row":1,"topk_ids":[1,2]})", "no layer"},
      {R"({"row":1,"layer":"x","topk_ids":[1,2]})", "layer is no whole number"},
      {R"({"row":-1,"layer":0,"topk_ids":[1,2]})", "row is no whole number"},
      {R"({"row":1,"layer":0,"topk_ids":[1,2],"topk_weights":[1]})", "topk_weights"},
      {R"({"row":1,"layer":0,"topk_ids":[1,2],"topk_weights":[1,1e300]})", "topk_weights"},
      {R"({"row":1,"layer":0,"topk_ids":[1,2])", "no JSON object"},
  };
  for (const auto& [line, says] : wrong) {
    SCOPED_TRACE(line);
    EXPECT_THAT(refusal_of(vllm({a, b, line})), HasSubstr(says));
    EXPECT_THAT(refusal_of(vllm({a, b, line})), HasSubstr("line 4"));
  }
  EXPECT_THAT(refusal_of(vllm({a})), HasSubstr("layer 2 and layer 0 have 0 and 1 tokens"));
  EXPECT_THAT(refusal_of(vllm({a, R"({"row":3,"layer":2,"topk_ids":[1,2]})"})), HasSubstr("different tokens"));
  EXPECT_THAT(refusal_of(vllm({})), HasSubstr("no tokens"));
  EXPECT_THAT(refusal_of(vllm({a, b}, R"({"type":"meta","top_k":3})")), HasSubstr("not 3"));
  EXPECT_THAT(refusal_of(vllm({a, b}, R"({"type":"meta","num_experts":-3})")), HasSubstr("num_experts"));
  EXPECT_THAT(refusal_of(vllm({a, b}, R"({"type":"meta","layers_logged":["x"]})")), HasSubstr("layers_logged"));
}

TEST(RecordedRouting, of_csv_has_a_token_for_each_k_lines_of_a_layer) {
  const RecordedRouting routing =
      recorded("expert, layer,weight\r\n3,1,0.75\r\n0,1,0.25\r\n2,4,1\r\n1,4,0.5\r\n", {.used = 2});
  EXPECT_EQ(routing.form, "csv");
  EXPECT_FALSE(routing.has_sequences);
  EXPECT_EQ(routing.trace.experts, 4);
  EXPECT_THAT(routing.trace.layers, ElementsAre(1, 4));
  ASSERT_EQ(routing.trace.tokens.size(), 1u);
  EXPECT_THAT(routing.trace.tokens[0].experts, ElementsAre(ElementsAre(3, 0), ElementsAre(2, 1)));
  EXPECT_THAT(routing.trace.tokens[0].weights[0], ElementsAre(0.75f, 0.25f));
  const RecordedRouting texts = recorded("seq,layer,expert\na,0,1\na,0,2\nb,0,0\nb,0,3\n", {.used = 2});
  EXPECT_TRUE(texts.has_sequences);
  EXPECT_EQ(texts.trace.tokens[1].sequence, 1);
  EXPECT_EQ(recorded("\xEF\xBB\xBFlayer,expert\n0,1\n", {.used = 1}).trace.experts, 2) << "a byte order mark";
}

TEST(RecordedRouting, of_csv_names_the_line_that_is_wrong) {
  const std::string names = "layer,expert\n";
  EXPECT_EQ(refusal_of(names + "0,1\n0,2", {.used = 2}), "") << "the last line needs no end";
  EXPECT_THAT(refusal_of(names + "0,1\n0,2\n"), HasSubstr("--top-k N"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,2\n0,3\n", {.used = 2}), HasSubstr("layer 0 are no multiple of --top-k 2"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,\n", {.used = 1}), HasSubstr("line 3"));
  EXPECT_THAT(refusal_of(names + "0,1\n0\n", {.used = 1}), HasSubstr("there is no expert"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,-2\n", {.used = 1}), HasSubstr("expert is no whole number"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,99999999999999999999\n", {.used = 1}), HasSubstr("line 3"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,1\n", {.used = 2}), HasSubstr("one expert twice"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,5\n", {.experts = 4, .used = 1}), HasSubstr("expert 5 is not one of 4"));
  EXPECT_THAT(refusal_of(names + "0,1\n0,5\n1,2\n", {.used = 1}), HasSubstr("layer 1 and layer 0"));
  EXPECT_THAT(refusal_of("expert,weight\n1,1\n", {.used = 1}), HasSubstr("no column 'layer'"));
  EXPECT_THAT(refusal_of("what is no CSV at all\n"), HasSubstr("no column 'layer'"));
  EXPECT_THAT(refusal_of("seq,layer,expert\na,0,1\nb,0,2\n", {.used = 2}), HasSubstr("different sequences"));
  EXPECT_THAT(refusal_of("layer,expert,weight\n0,1,nan\n", {.used = 1}), HasSubstr("weight is no number"));
  EXPECT_THAT(refusal_of(names, {.used = 1}), HasSubstr("no tokens"));
  EXPECT_THAT(refusal_of("", {.used = 1}), HasSubstr("empty"));
  EXPECT_THAT(refusal_of("\n \n"), HasSubstr("empty"));
}

TEST(RecordedRouting, of_csv_may_have_quoted_cells_with_commas) {
  const RecordedRouting routing = recorded(
      "\"piece\", \"layer\" ,expert\n\"1,0\",1,2\n\"a \"\"b\"\", c\" ,1,\"3\"\nd\"e,1,0\n\"\",1,1,\n", {.used = 2});
  EXPECT_THAT(routing.trace.layers, ElementsAre(1));
  ASSERT_EQ(routing.trace.tokens.size(), 2u);
  EXPECT_THAT(routing.trace.tokens[0].experts[0], ElementsAre(2, 3));
  EXPECT_THAT(routing.trace.tokens[1].experts[0], ElementsAre(0, 1));
  const std::string names = "piece,layer,expert\n";
  for (const char* open : {"\"a,1,2\n", "\"a\"b,1,2\n", "\"a\"\",1,2\n"})
    EXPECT_THAT(refusal_of(names + open, {.used = 1}), HasSubstr("a quoted cell does not end")) << open;
}

TEST(RecordedRouting, of_csv_has_each_column_once_and_no_cells_beside_them) {
  EXPECT_THAT(refusal_of("layer,expert,layer\n0,1,5\n", {.used = 1}), HasSubstr("names the column 'layer' twice"));
  EXPECT_THAT(refusal_of("layer,expert\n0,1,5\n", {.used = 1}), HasSubstr("has 3 cells, and the first line 2"));
  EXPECT_EQ(refusal_of("layer,expert,,\n0,1,,,\n", {.used = 1}), "") << "columns without a name, and a last comma";
}

TEST(RecordedRouting, may_have_blank_lines_of_any_kind) {
  const std::string blank = "\r\n  \r\n\t\n\n";
  EXPECT_EQ(refusal_of(blank + "layer,expert\r\n" + blank + "0,1\r\n" + blank, {.used = 1}), "");
  EXPECT_EQ(refusal_of(kVllmMeta + ("\r\n" + blank) + R"({"layer":0,"topk_ids":[5,1]})" + "\r\n" + blank +
                       R"({"layer":2,"topk_ids":[5,1]})" + blank),
            "");
  EXPECT_EQ(refusal_of(blank + R"({"type":"meta","experts":4,"top_k":2,"moe_layers":[1]})" + "\r\n" + blank +
                       R"({"seq":0,"pos":0,"experts":[[0,3]]})" + "\r\n" + blank),
            "");
}

TEST(RecordedRouting, has_each_key_once) {
  const std::string meta = "{\"type\":\"meta\",\"experts\":4,\"top_k\":1,\"moe_layers\":[1]}\n";
  EXPECT_THAT(refusal_of(meta + R"({"seq":0,"pos":0,"seq":1,"experts":[[3]]})"),
              HasSubstr("seq is there twice: file, line 2"));
  EXPECT_THAT(refusal_of(R"({"type":"meta","experts":4,"top_k":1,"moe_layers":[1],"experts":8})"),
              HasSubstr("experts is there twice: file, line 1"));
  EXPECT_EQ(refusal_of(meta + R"({"seq":0,"pos":0,"experts":[[3]],"piece":"seq","more":{"seq":1}})"), "")
      << "a value of that name, and a key of another object";
  EXPECT_THAT(refusal_of(vllm({R"({"layer":0,"topk_ids":[5,1],"layer":2})"})),
              HasSubstr("layer is there twice: file, line 2"));
}

TEST(RecordedRouting, that_is_compressed_is_called_so) {
  EXPECT_THAT(refusal_of("\x1F\x8B\x08 packed\n", {.used = 1}), HasSubstr("is compressed: file. Unpack it first"));
  EXPECT_THAT(refusal_of("\x28\xB5\x2F\xFD packed\n", {.used = 1}), HasSubstr("is compressed"));
}

TEST(RecordedRouting, with_fewer_tokens_than_its_first_line_says_has_a_note) {
  const auto notes_of = [](const std::string& counts) {
    return recorded(R"({"type":"meta","experts":4,"top_k":1,"moe_layers":[1])" + counts + "}\n" +
                    "{\"seq\":0,\"pos\":0,\"experts\":[[3]]}\n{\"seq\":2,\"pos\":4,\"experts\":[[1]]}\n")
        .notes;
  };
  EXPECT_THAT(notes_of(R"(,"sequences":2,"tokens_per_sequence":5)"), ElementsAre());
  EXPECT_THAT(notes_of(R"(,"sequences":1,"tokens_per_sequence":"many")"), ElementsAre()) << "more is no cut file";
  EXPECT_THAT(notes_of(R"(,"sequences":3)"), ElementsAre(HasSubstr("says 3 sequences, and the file has 2")));
  EXPECT_THAT(notes_of(R"(,"tokens_per_sequence":6)"), ElementsAre(HasSubstr("says 6 tokens for the longest of them")));
}

}  // namespace
}  // namespace tandem
