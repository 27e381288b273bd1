#include "npu_emu/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sync/error.h"
#include "tests/support/scratch_folder.h"

namespace tandem::npu_emu {
namespace {

using ::testing::HasSubstr;

std::string parse_error(const std::string& text) {
  try {
    parse_params(text, "chip.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NpuParams, takes_given_keys_and_keeps_the_built_in_rest) {
  const NpuParams params = parse_params(
      R"({"schema": 1, "name": "mine", "clock_hz": 5e8, "array": {"rows": 8, "cols": 16, "dataflow": "os"},
          "energy": {"static_watts": 0}, "compiler": {"max_extent": 4096}})",
      "chip.json");
  EXPECT_EQ("mine", params.name);
  EXPECT_EQ((ArrayShape{8, 16}), params.array);
  EXPECT_EQ(Dataflow::output_stationary, params.dataflow);
  EXPECT_EQ(5e8, params.clock_hz);
  EXPECT_EQ(0, params.energy.static_watts);
  EXPECT_EQ(4096, params.compiler.max_extent);
  EXPECT_EQ(NpuParams().memory_bytes_per_second, params.memory_bytes_per_second);
}

TEST(NpuParams, writes_every_key_so_that_it_can_be_read_back) {
  NpuParams params;
  params.array = {7, 9};
  params.energy.mac_int8_joules = 1.25e-13;
  params.compiler.byte_seconds = 3e-9;
  const std::string text = to_json(params);
  EXPECT_EQ(text, to_json(parse_params(text, "chip.json")));
  EXPECT_EQ((ArrayShape{7, 9}), parse_params(text, "chip.json").array);
}

TEST(NpuParams, refuses_bad_files_naming_file_key_and_expectation) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"{", "the file", "valid JSON"},
      {"[1]", "the file", "one JSON object"},
      {"{}", "schema", "expected 1"},
      {R"({"schema": 2})", "schema", "expected 1"},
      {R"({"schema": 1, "clock": 1})", "clock", "no such key"},
      {R"({"schema": 1, "energy": {"mac": 1}})", "energy.mac", "no such key"},
      {R"({"schema": 1, "energy": 3})", "energy", "an object"},
      {R"({"schema": 1, "clock_hz": 0})", "clock_hz", "above 0"},
      {R"({"schema": 1, "clock_hz": -1})", "clock_hz", "above 0"},
      {R"({"schema": 1, "clock_hz": 1e300})", "clock_hz", "at most 1e15"},
      {R"({"schema": 1, "clock_hz": "fast"})", "clock_hz", "a number"},
      {R"({"schema": 1, "energy": {"static_watts": -0.5}})", "energy.static_watts", "from 0"},
      {R"({"schema": 1, "array": {"rows": 0}})", "array.rows", "1 to 4096"},
      {R"({"schema": 1, "array": {"rows": 4.5}})", "array.rows", "whole number"},
      {R"({"schema": 1, "array": {"cols": 4097}})", "array.cols", "1 to 4096"},
      {R"({"schema": 1, "array": {"cols": 18446744073709551615}})", "array.cols", "1 to 4096"},
      {R"({"schema": 1, "array": {"dataflow": "rs"}})", "array.dataflow", "\"ws\""},
      {R"({"schema": 1, "array": {"dataflow": 1}})", "array.dataflow", "\"ws\""},
      {R"({"schema": 1, "name": ""})", "name", "not empty"},
      {R"({"schema": 1, "compiler": {"max_graph_bytes": 0}})", "compiler.max_graph_bytes", "at least 1"},
  };
  for (const auto& [text, key, expected] : cases) {
    const std::string message = parse_error(text);
    EXPECT_THAT(message, HasSubstr("chip.json")) << text;
    EXPECT_THAT(message, HasSubstr(key)) << text;
    EXPECT_THAT(message, HasSubstr(expected)) << text;
  }
}

TEST(NpuParams, reads_a_file_and_names_one_that_is_not_there) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("params.json");
  std::ofstream(path) << R"({"schema": 1, "launch_seconds": 0.25})";
  EXPECT_EQ(0.25, load_params(path).launch_seconds);
  EXPECT_THROW(load_params(folder.file("missing.json")), Error);
}

}  // namespace
}  // namespace tandem::npu_emu
