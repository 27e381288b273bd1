// Possible contents of the file of measurements: a user may have edited it, or a crash may have damaged it.
#include "engine/measure/measurement_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using nlohmann::json;

DeviceInfo device() {
  DeviceInfo info;
  info.id = "npu:0";
  return info;
}

json point(const json& changes = json::object()) {
  json value = {{"median", 2e-6}, {"least", 1e-6}, {"most", 3e-6}, {"samples", 3}};
  value["matmul"] = {{"format", "i4.g32.half.zero8"}, {"S", 1}, {"K", 64}, {"rows", 64}, {"both", false}};
  value.merge_patch(changes);
  return value;
}

std::vector<MeasuredPoint> points_of(const json& value) {
  DiskCache cache("");
  cache.set(measurement_key(device()) + "|matmul 1", value);
  return stored_points(cache, device());
}

TEST(MeasurementStore, are_those_that_were_written) {
  const auto points = points_of(point());
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].seconds, 1e-6);
  EXPECT_EQ(points[0].point, (MatMulPoint{"i4.g32.half.zero8", 1, 64, 64, false}));
}

TEST(MeasurementStore, with_values_of_another_type_or_size_are_as_good_as_none) {
  for (const char* changes : {R"({"least": "1"})", R"({"least": -1})", R"({"matmul": 1})", R"({"matmul": {"S": "1"}})",
                              R"({"matmul": {"S": 0}})", R"({"matmul": {"K": 4e18}})", R"({"matmul": {"rows": [64]}})",
                              R"({"matmul": {"format": 4}})", R"({"matmul": {"format": "i5.unheard.of"}})"}) {
    EXPECT_TRUE(points_of(point(json::parse(changes))).empty()) << changes;
  }
  for (const char* value : {"[]", "\"text\"", "true", "-1", "{}"}) {
    EXPECT_TRUE(points_of(json::parse(value)).empty()) << value;
    DiskCache cache("");
    cache.set("key", json::parse(value));
    EXPECT_EQ(stored_seconds(cache, "key"), std::nullopt) << value;
  }
}

TEST(MeasurementStore, come_from_a_file_of_any_depth) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("deep.json");
  std::ofstream(path) << R"({"format": "tandem measurements 1", "values": {"a": )" << std::string(200000, '[')
                      << std::string(200000, ']') << "}}";
  DiskCache cache(path);
  EXPECT_EQ(cache.value("a"), std::nullopt);
  cache.set("b", 1.0);
  cache.save();
  EXPECT_EQ(DiskCache(path).value("b"), nlohmann::json(1.0));
}

}  // namespace
}  // namespace tandem
