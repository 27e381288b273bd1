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

TEST(Info, tells_what_weights_experts_and_context_need_of_the_memory) {
  const Arguments info = {"info", "-m", repository_data("arch-models/qwen3moe-F32.gguf"), "--device", "host"};
  const json all = json_of(info).at("memory");
  EXPECT_EQ(all.at("context"), 512);
  EXPECT_EQ(all.at("in_memory_bytes"), all.at("packed_bytes"));
  EXPECT_TRUE(all.at("speed").is_null());
  EXPECT_EQ(all.at("experts").at("in_memory_per_layer"), 8);
  const json quarter = json_of(info + Arguments{"--expert-budget", "25%", "--ctx-size", "256"}).at("memory");
  EXPECT_EQ(quarter.at("experts").at("in_memory_per_layer"), 2);
  EXPECT_EQ(quarter.at("in_memory_bytes").get<int64_t>(),
            all.at("packed_bytes").get<int64_t>() - all.at("experts").at("bytes").get<int64_t>() / 4 * 3);
  EXPECT_EQ(quarter.at("context_bytes").get<int64_t>() * 2, all.at("context_bytes").get<int64_t>());
  const json floats = json_of(info + Arguments{"--cache-type", "f32", "--host-budget", "50%"}).at("memory");
  EXPECT_EQ(floats.at("context_bytes").get<int64_t>(), all.at("context_bytes").get<int64_t>() * 2);
  EXPECT_EQ(floats.at("experts").at("in_memory_per_layer"), 4);
  EXPECT_THAT(tandem(info + Arguments{"--expert-budget", "25%"}).out, HasSubstr("2 of 8 of each layer in memory"));
  EXPECT_EQ(tandem({"info", "-m", stories(), "--device", "host", "--expert-budget", "25%"}).status, 1);
  const Arguments copies{"--expert-copies", "--expert-budget", "25%", "--host-budget", "50%"};
  const json tiers = json_of(info + copies).at("memory").at("experts");
  EXPECT_EQ(tiers.at("in_memory_per_layer"), 2);
  EXPECT_EQ(tiers.at("in_host_memory_per_layer"), 4);
  EXPECT_THAT(tandem(info + copies).out, HasSubstr("2 of 8 of each layer in slots of the GPU, 4 in the host's memory"));
  EXPECT_TRUE(quarter.at("experts").at("in_host_memory_per_layer").is_null());
}

// The memory and the storage give different rates on every machine, so the parts of a sum are compared.
TEST(Info, measures_what_a_token_takes_at_least_where_it_is_asked) {
  const Arguments info = {"info",     "-m",   repository_data("arch-models/qwen3moe-F32.gguf"),
                          "--device", "host", "--speed"};
  const json all = json_of(info).at("memory").at("speed");
  EXPECT_GT(all.at("token_memory_seconds").get<double>(), 0);
  EXPECT_EQ(all.at("token_storage_seconds"), 0);
  EXPECT_TRUE(all.at("storage_bytes_per_second").is_null()) << "all experts are in memory";
  const json quarter = json_of(info + Arguments{"--expert-budget", "25%"}).at("memory");
  const json& speed = quarter.at("speed");
  const double missing = quarter.at("experts").at("token_bytes").get<double>() * 6 / 8;
  EXPECT_NEAR(speed.at("token_storage_seconds").get<double>(),
              missing / speed.at("storage_bytes_per_second").get<double>(), 1e-12);
  EXPECT_THAT(speed.at("storage_how").get<std::string>(), HasSubstr("page cache"));
  const std::string text = tandem(info + Arguments{"--expert-budget", "25%"}).out;
  EXPECT_THAT(text, HasSubstr("measured "));
  EXPECT_THAT(text, HasSubstr("if all experts are asked for equally often"));
}

TEST(Devices, tells_what_was_proven_of_those_that_are_named) {
  const json report = json_of({"devices", "--device", "npu:0,host", "-t", "1"});
  ASSERT_EQ(report.at("devices").size(), 2u);
  const std::string reads = report.at("storage_reads");
  EXPECT_TRUE(reads == "io_uring" || reads.starts_with("threads")) << reads;
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
