// `tandem info` and `tandem devices` as whole programs.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

TEST(Info, tells_shapes_types_and_sizes_of_the_file_and_what_each_device_takes) {
  const json report = json_of({"info", "-m", stories(), "--device", "npu:0,host"});
  EXPECT_EQ(report.at("architecture"), "llama");
  EXPECT_EQ(report.at("name"), "stories260K");
  EXPECT_EQ(report.at("file_bytes"), std::filesystem::file_size(stories()));
  const json& shapes = report.at("shapes");
  EXPECT_EQ(shapes.at("layers"), 5);
  EXPECT_EQ(shapes.at("hidden"), 64);
  EXPECT_EQ(shapes.at("heads"), 8);
  EXPECT_EQ(shapes.at("kv_heads"), 4);
  EXPECT_EQ(shapes.at("feed_forward"), 172);
  EXPECT_EQ(shapes.at("vocabulary"), 512);
  EXPECT_EQ(shapes.at("context_length"), 512);
  // The model has two matrices of 512 x 64, five layers of 64 x (64 + 32 + 32 + 64) and 3 x 64 x 172, and 11 norms
  // of 64.
  const int64_t matrices = 2 * 512 * 64 + 5 * (64 * 192 + 3 * 64 * 172), norms = 11 * 64;
  EXPECT_EQ(report.at("parameters"), matrices + norms);
  std::map<std::string, int64_t> bytes_of;
  for (const json& type : report.at("storage")) bytes_of[type.at("type")] = type.at("bytes");
  EXPECT_EQ(bytes_of, (std::map<std::string, int64_t>{{"F16", 2 * matrices}, {"F32", 4 * norms}}));
  std::vector<std::string> devices;
  for (const json& row : report.at("placement")) {
    EXPECT_TRUE(row.at("supported").get<bool>()) << row;
    devices.push_back(row.at("device"));
  }
  EXPECT_THAT(devices, ::testing::ElementsAre("npu:0", "host"));

  const Ended text = tandem({"info", "--model", stories(), "--device", "host", "-v"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("layers=5"));
  EXPECT_THAT(text.out, HasSubstr("on host: yes"));
  EXPECT_THAT(tandem({"info", "-m", stories(), "--device", "host", "-q"}).err, IsEmpty());
}

TEST(Info, tells_of_experts_and_latents_where_a_model_has_them) {
  const json latent = json_of({"info", "-m", repository_data("arch-models/deepseek2-F32.gguf")}).at("shapes");
  EXPECT_EQ(latent.at("experts"), 8);
  EXPECT_EQ(latent.at("experts_used"), 2);
  EXPECT_EQ(latent.at("expert_feed_forward"), 32);
  EXPECT_EQ(latent.at("shared_feed_forward"), 64);
  EXPECT_EQ(latent.at("dense_layers"), 1);
  EXPECT_EQ(latent.at("gating"), "softmax");
  EXPECT_EQ(latent.at("expert_weights_normalised"), false);
  EXPECT_EQ(latent.at("kv_lora_rank"), 32);
  EXPECT_EQ(latent.at("value_dim"), 32);
  EXPECT_FALSE(json_of({"info", "-m", stories()}).at("shapes").contains("experts"));
}

TEST(Devices, tells_what_was_proven_of_those_that_are_named) {
  const json report = json_of({"devices", "--device", "npu:0,host", "-t", "1"});
  ASSERT_EQ(report.at("devices").size(), 2u);
  for (const json& device : report.at("devices")) {
    EXPECT_FALSE(device.contains("error")) << device;
    EXPECT_EQ(device.at("zero_copy"), true);
    EXPECT_EQ(device.at("policies").size(), 6u);
  }
  EXPECT_EQ(report.at("devices").at(0).at("f16_operands"), true);
  EXPECT_EQ(report.at("pairs").size(), 2u);
  EXPECT_EQ(report.at("layout").at("gpu_cores").size(), 1u);
  EXPECT_EQ(report.at("layout").at("gpu_cores"), report.at("layout").at("npu_cores")) << "-t 1: they share the core";
  EXPECT_EQ(report.at("layout").at("may_spin"), false);

  const Ended text = tandem({"devices", "--device", "host", "-q"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("zero copy  yes"));
  EXPECT_THAT(text.err, IsEmpty());
}

TEST(Devices, fail_for_one_that_is_not_there) {
  const Ended ended = tandem({"devices", "--device", "opencl:99,host", "-v"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.out, HasSubstr("opencl:99\n  cannot be used: "));
  EXPECT_THAT(ended.out, HasSubstr("host  ")) << "the other devices are listed too";
}

}  // namespace
}  // namespace tandem::testing
