// The shared flags: the values that they set, and what they refuse.
#include "engine/app/common_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "engine/app/flag_values.h"

namespace tandem::app {
namespace {

using ::testing::ElementsAre;

CommonFlags parse(std::vector<std::string> arguments) {
  CLI::App app;
  CommonFlags flags;
  add_text_flags(app, flags);
  add_sampling_flags(app, flags);
  add_engine_flags(app, flags);
  add_output_flags(app, flags);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  app.parse(arguments);
  take_dropped_variables(app);
  return flags;
}

bool accepts(const std::string& flag, const std::string& value) {
  try {
    parse({"-p", "x", flag, value});
    return true;
  } catch (const CLI::ParseError&) {
    return false;
  }
}

TEST(CommonFlags, take_the_values_of_the_command_line) {
  CommonFlags flags =
      parse({"-p",         "Hi",     "-n",           "-1",   "-c",      "512",  "-t",           "2",
             "-s",         "7",      "--temp",       "0.5",  "--top-k", "3",    "--device",     "opencl:0,npu:0",
             "--plan",     "tensor", "--split",      "0.25", "--act",   "f16",  "--cache-type", "f32",
             "--chunk",    "64",     "--npu-memory", "9",    "--sync",  "spin", "--trace",      "t.json",
             "--deadline", "2.5",    "--stop",       "a,b",  "--stop",  "-c",   "-vv",          "--strict-device"});
  EXPECT_EQ(flags.text.prompt, "Hi");
  EXPECT_FALSE(flags.text.has_file);
  EXPECT_EQ(flags.generate.predict, -1);
  EXPECT_EQ(flags.ctx_size, 512);
  EXPECT_EQ(flags.engine.threads, 2);
  EXPECT_EQ(flags.seed.value, 7u);
  EXPECT_FALSE(flags.seed.is_drawn);
  EXPECT_FLOAT_EQ(flags.generate.sampler.temperature, 0.5f);
  EXPECT_EQ(flags.generate.sampler.top_k, 3);
  EXPECT_THAT(flags.engine.devices, ElementsAre("opencl:0", "npu:0"));
  EXPECT_EQ(flags.engine.plan, "tensor");
  EXPECT_THAT(flags.engine.split, ElementsAre(0.25));
  EXPECT_EQ(flags.act, "f16");
  EXPECT_EQ(flags.cache_type, "f32");
  EXPECT_EQ(flags.engine.chunk, 64);
  EXPECT_EQ(flags.engine.npu_memory_bytes, uint64_t{9} << 20);
  EXPECT_EQ(flags.sync, "spin");
  EXPECT_EQ(flags.trace, "t.json");
  EXPECT_EQ(flags.deadline_seconds, 2.5);
  EXPECT_THAT(flags.generate.stop, ElementsAre("a,b", "-c"));
  EXPECT_EQ(flags.verbosity, 2);
  EXPECT_TRUE(flags.engine.strict_device);
  EXPECT_EQ(parse({"-p", "x", "--fast"}).act, "i8");
  EXPECT_EQ(parse({"-p", "x", "--exact"}).act, "exact");
}

TEST(CommonFlags, leave_the_defaults_when_nothing_is_said) {
  unsetenv("TANDEM_DEVICE");
  CommonFlags flags = parse({"-p", ""});
  EXPECT_EQ(flags.generate.predict, 128);
  EXPECT_TRUE(flags.engine.split.empty());
  EXPECT_EQ(flags.generate.sampler.temperature, 0);
  EXPECT_EQ(flags.engine.plan, "auto");
  EXPECT_TRUE(flags.engine.devices.empty());
  EXPECT_EQ(flags.engine.npu_memory_bytes, 0u);
}

TEST(CommonFlags, accept_values_at_the_edges_of_their_ranges) {
  EXPECT_TRUE(accepts("--top-p", "1"));
  EXPECT_TRUE(accepts("--top-p", "0"));
  EXPECT_TRUE(accepts("--split", "-1"));
  EXPECT_TRUE(accepts("--split", "0"));
  EXPECT_TRUE(accepts("--split", "1"));
  EXPECT_TRUE(accepts("--split", "0.5,0.25,0.25"));
  EXPECT_TRUE(accepts("-n", "0"));
  EXPECT_EQ(parse({"-p", "x", "-n", "010"}).generate.predict, 10) << "not octal";
  EXPECT_TRUE(accepts("--soc", "missing.json")) << "a file is looked at when it is read";
  EXPECT_TRUE(accepts("--device", "host"));
  EXPECT_TRUE(accepts("--device", "opencl:0?copies=1,npu:0?params=a/b.json"));
  EXPECT_TRUE(accepts("--seed", "18446744073709551615"));
  EXPECT_TRUE(accepts("--seed", "-1"));  // -1 asks for a random seed
}

TEST(CommonFlags, refuse_what_is_out_of_range_or_no_value) {
  const std::vector<std::pair<std::string, std::string>> wrong = {{"-n", "-2"},
                                                                  {"-n", "many"},
                                                                  {"-n", "99999999999"},
                                                                  {"-c", "-1"},
                                                                  {"-t", "-1"},
                                                                  {"--temp", "-0.1"},
                                                                  {"--temp", "nan"},
                                                                  {"--top-k", "-1"},
                                                                  {"--top-p", "1.1"},
                                                                  {"--min-p", "-0.1"},
                                                                  {"--split", "1.5"},
                                                                  {"--split", "-0.5"},
                                                                  {"--split", "0.5,2"},
                                                                  {"--split", "nan"},
                                                                  {"--act", "f64"},
                                                                  {"--cache-type", "q8"},
                                                                  {"--chunk", "-1"},
                                                                  {"--npu-memory", "0"},
                                                                  {"--npu-memory", "-1"},
                                                                  {"--npu-memory", "1.5"},
                                                                  {"--npu-memory", "1048577"},
                                                                  {"--sync", "hope"},
                                                                  {"--deadline", "0"},
                                                                  {"--deadline", "nan"},
                                                                  {"--device", "GPU 0"},
                                                                  {"--device", "npu:x"},
                                                                  {"--device", "npu:0?=x"},
                                                                  {"--stop", ""},
                                                                  {"--repeat-penalty", "0"},
                                                                  {"-n", "1e3"},
                                                                  {"-n", "0x10"},
                                                                  {"--top-k", "4294967296"},
                                                                  {"--plan", "foo"},
                                                                  {"--soc", "foo"},
                                                                  {"--device", "toy:0"},
                                                                  {"--device", "host?x=1"},
                                                                  {"--seed", "18446744073709551616"},
                                                                  {"--seed", "-2"},
                                                                  {"--seed", "x"}};
  for (const auto& [flag, value] : wrong) EXPECT_FALSE(accepts(flag, value)) << flag << " " << value;
}

TEST(CommonFlags, take_devices_from_the_environment_when_none_are_named) {
  setenv("TANDEM_DEVICE", "host,npu:0", 1);
  CommonFlags from_environment = parse({"-p", "x"});
  CommonFlags named = parse({"-p", "x", "--device", "opencl:1"});
  unsetenv("TANDEM_DEVICE");
  EXPECT_THAT(from_environment.engine.devices, ElementsAre("host", "npu:0"));
  EXPECT_THAT(named.engine.devices, ElementsAre("opencl:1"));
}

}  // namespace
}  // namespace tandem::app
