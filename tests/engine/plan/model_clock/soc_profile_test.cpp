#include "engine/plan/model_clock/soc_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr const char* kName = "snapdragon-8gen3";

Json built_in() { return Json::parse(embedded_soc_profile(kName)); }
std::string failure(const Json& json) {
  try {
    parse_soc_profile(json.dump(), "mine.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
std::string failure_with(const char* pointer, const Json& value) {
  Json json = built_in();
  json[Json::json_pointer(pointer)] = value;
  return failure(json);
}

TEST(soc_profile, every_built_in_profile_loads_with_a_source_for_every_value) {
  const std::vector<std::string> names = soc_profile_names();
  EXPECT_EQ(names.size(), 10u);
  EXPECT_THAT(names, Contains(kName));
  for (const std::string& name : names) {
    const SocProfile profile = soc_profile(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_FALSE(profile.description.empty());
    for (const auto& [key, note] : profile.sources) EXPECT_FALSE(note.empty()) << name << ": " << key;
  }
}

TEST(soc_profile, printed_inputs_are_those_of_the_paper) {
  const SocProfile profile = soc_profile(kName);
  EXPECT_EQ(profile.memory.peak_bytes_per_second, 68e9);
  EXPECT_EQ(profile.memory.shared_bytes_per_second, 59.1e9);
  EXPECT_EQ(profile.gpu.bytes_per_second, 43.3e9);
  EXPECT_EQ(profile.sync.copy_seconds, 400e-6);
  EXPECT_EQ(profile.row_step, 256);
  EXPECT_EQ(profile.token_step, 32);
  EXPECT_EQ(profile.npu.graph_tokens, (std::vector<int64_t>{32, 64, 128, 256, 512, 1024}));
  EXPECT_EQ(profile.npu.int8_rate, 2);
  EXPECT_EQ(soc_profile("m2-ultra").npu.int8_rate, 0) << "printed: integers become 16-bit floats before they compute";
}

TEST(soc_profile, a_profile_based_on_another_says_what_it_took_over) {
  const SocProfile base = soc_profile(kName), other = soc_profile("apple-a18");
  EXPECT_NE(other.gpu.flops, base.gpu.flops);
  EXPECT_EQ(other.gpu.bytes_per_second, base.gpu.bytes_per_second);
  EXPECT_THAT(other.sources.at("gpu.bytes_per_second"), HasSubstr("taken over from snapdragon-8gen3"));
  EXPECT_THAT(other.sources.at("gpu.flops"), HasSubstr("Table 1"));
}

TEST(soc_profile, npus_without_16_bit_floats_are_marked) {
  for (const char* name : {"jetson-orin", "tesla-fsd"}) EXPECT_FALSE(soc_profile(name).npu.float16) << name;
  EXPECT_TRUE(soc_profile(kName).npu.float16);
}

TEST(soc_profile, experts_are_known_of_some_chips) {
  EXPECT_TRUE(soc_profile("m2-ultra").has_experts());
  EXPECT_TRUE(soc_profile("m2-max").has_experts());
  EXPECT_FALSE(soc_profile(kName).has_experts());
  EXPECT_EQ(soc_profile("m2-ultra").experts.graph_bytes, int64_t{1200} << 20);
  EXPECT_EQ(soc_profile("m2-max").experts.graph_bytes, int64_t{1200} << 20) << "taken over";
  EXPECT_LT(soc_profile("m2-max").experts.flops, soc_profile("m2-ultra").experts.flops);
  const std::string text = to_json(soc_profile("m2-ultra"));
  EXPECT_EQ(to_json(parse_soc_profile(text, "again")), text);
}

TEST(soc_profile, the_section_of_experts_is_whole_or_not_there) {
  Json json = Json::parse(embedded_soc_profile("m2-ultra"));
  json["experts"].erase("queue_gain");
  EXPECT_THAT(failure(json), HasSubstr("experts.queue_gain"));
  json.erase("experts");
  EXPECT_EQ(failure(json), "");
}

TEST(soc_profile, passes_and_loading_are_known_of_phones_with_drafts) {
  for (const char* name : {"redmi-k60-pro", "redmi-k70-pro", "oneplus-13"}) {
    const SocProfile phone = soc_profile(name);
    EXPECT_TRUE(phone.has_passes()) << name;
    EXPECT_GT(phone.npu.load_bytes_per_second, 0) << name;
    EXPECT_EQ(phone.passes.prefill_tokens % phone.passes.decode_tokens, 0) << name;
    const std::string text = to_json(phone);
    EXPECT_EQ(to_json(parse_soc_profile(text, "again")), text);
  }
  EXPECT_FALSE(soc_profile(kName).has_passes());
  EXPECT_EQ(soc_profile(kName).npu.load_bytes_per_second, 0) << "not known";
  EXPECT_LT(soc_profile("redmi-k70-pro").passes.flops, soc_profile("redmi-k60-pro").passes.flops) << "printed: slower";
}

TEST(soc_profile, the_section_of_passes_is_whole_or_not_there) {
  Json json = Json::parse(embedded_soc_profile("oneplus-13"));
  EXPECT_EQ(failure(json), "");
  json["passes"].erase("cpu_flops");
  EXPECT_THAT(failure(json), HasSubstr("mine.json: passes.cpu_flops"));
  json.erase("passes");
  EXPECT_EQ(failure(json), "");
  EXPECT_THAT(failure_with("/passes/decode_tokens", Json{{"value", 0}, {"source", "?"}}),
              HasSubstr("passes.decode_tokens. expected a whole number from 1"));
}

TEST(soc_profile, a_rate_of_loading_is_above_zero_or_not_there) {
  EXPECT_EQ(failure_with("/npu/load_bytes_per_second", Json{{"value", 1e9}, {"source", "?"}}), "");
  EXPECT_THAT(failure_with("/npu/load_bytes_per_second", Json{{"value", 0}, {"source", "?"}}),
              HasSubstr("npu.load_bytes_per_second. expected a number above 0"));
}

TEST(soc_profile, json_survives_a_round_trip) {
  const SocProfile profile = soc_profile("dimensity-9300");
  const std::string text = to_json(profile);
  EXPECT_EQ(to_json(parse_soc_profile(text, "again")), text);
}

TEST(soc_profile, a_bad_file_is_refused_naming_file_and_key) {
  EXPECT_EQ(failure(built_in()), "");
  EXPECT_THAT(failure(Json::array()), HasSubstr("mine.json"));
  EXPECT_THAT(failure_with("/schema", 2), HasSubstr("mine.json: schema"));
  EXPECT_THAT(failure_with("/gpu/flops/value", 0), HasSubstr("gpu.flops. expected a number above 0"));
  EXPECT_THAT(failure_with("/gpu/flops/value", "fast"), HasSubstr("gpu.flops"));
  EXPECT_THAT(failure_with("/gpu/flops", 1e12), HasSubstr("gpu.flops"));
  EXPECT_THAT(failure_with("/npu/arrays/value", 1.5), HasSubstr("npu.arrays. expected a whole number"));
  EXPECT_THAT(failure_with("/npu/arrays/value", 5000), HasSubstr("npu.arrays"));
  EXPECT_THAT(failure_with("/npu/float16/value", 1), HasSubstr("npu.float16. expected true or false"));
  EXPECT_THAT(failure_with("/npu/graph_tokens/value", Json::array({64, 32})), HasSubstr("rising"));
  EXPECT_THAT(failure_with("/npu/graph_tokens/value", Json::array()), HasSubstr("npu.graph_tokens"));
  EXPECT_THAT(failure_with("/gpu/warp", Json{{"value", 1}, {"source", "?"}}),
              HasSubstr("gpu.warp. expected another name"));
  EXPECT_THAT(failure_with("/based_on", "nobody"), HasSubstr("based_on"));
  EXPECT_THAT(failure_with("/based_on", "apple-a18"), HasSubstr("a profile with every key"));
  EXPECT_THAT(failure_with("/sync/copy_seconds/source", 1), HasSubstr("sync.copy_seconds"));
}

TEST(soc_profile, a_missing_key_is_named) {
  Json json = built_in();
  json["power"].erase("gpu_watts");
  EXPECT_THAT(failure(json), HasSubstr("mine.json: power.gpu_watts"));
}

// The text is cut at every place, or one byte is replaced. The reader must throw an Error or return a profile within
// its ranges.
TEST(soc_profile, a_damaged_file_is_an_error_or_a_profile) {
  const std::string text(embedded_soc_profile(kName));
  int refused = 0, taken = 0;
  const auto read = [&](const std::string& damaged) {
    try {
      EXPECT_GT(parse_soc_profile(damaged, "damaged.json").gpu.flops, 0);
      ++taken;
    } catch (const Error&) {
      ++refused;
    }
  };
  for (size_t length = 0; length < text.size() - 2; length += 7) read(text.substr(0, length));
  EXPECT_EQ(taken, 0);
  for (size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged[at] = "0-{\"\xff"[at % 5];
    read(damaged);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 100) << "most bytes are words of a source";
}

TEST(soc_profile, an_unknown_name_lists_the_known_ones) {
  try {
    soc_profile("snapdragon-9");
    FAIL() << "found it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("apple-a18, dimensity-9300"));
  }
}

TEST(soc_profile, numbers_have_names) {
  SocProfile profile = soc_profile(kName);
  set_number(profile, "gpu.flops", 2e12, "tried");
  EXPECT_EQ(profile.gpu.flops, 2e12);
  EXPECT_EQ(number_of(profile, "gpu.flops"), 2e12);
  EXPECT_EQ(profile.sources.at("gpu.flops"), "tried");
  set_number(profile, "npu.stationary_bytes", 1e6, "tried");
  EXPECT_EQ(profile.npu.stationary_bytes, 1000000);
  EXPECT_THROW(set_number(profile, "gpu.flops", -1, ""), Error);
  EXPECT_THROW(set_number(profile, "gpu.color", 1, ""), Error);
  EXPECT_THROW(number_of(profile, "npu.float16"), Error);
}

}  // namespace
}  // namespace tandem
