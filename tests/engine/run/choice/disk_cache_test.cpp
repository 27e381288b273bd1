#include "engine/run/choice/disk_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/plan/prediction/operator_class.h"
#include "engine/run/choice/stored_ratios.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

std::optional<double> number(const DiskCache& cache, const std::string& key) {
  const auto value = cache.value(key);
  return value ? std::optional(value->get<double>()) : std::nullopt;
}

class DiskCacheFile : public ::testing::Test {
 protected:
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.file("deep/measured.json");
};

TEST_F(DiskCacheFile, gives_back_in_another_process_what_was_measured_in_this_one) {
  DiskCache first(path_);
  first.set("npu:0|i4 S1 K64 N64", 1.5e-6);
  first.set("auto", "tensor");
  first.save();
  const DiskCache second(path_);
  EXPECT_EQ(number(second, "npu:0|i4 S1 K64 N64"), 1.5e-6);
  EXPECT_TRUE(second.value("auto") == nlohmann::json("tensor"));
  EXPECT_EQ(number(second, "other"), std::nullopt);
}

TEST_F(DiskCacheFile, starts_empty_when_the_file_is_broken_or_of_another_format) {
  std::filesystem::create_directories(folder_.file("deep"));
  for (const char* content :
       {"", "{", "[1,2]", R"({"format":"other","values":{"a":1}})", R"({"format":"tandem measurements 1"})"}) {
    std::ofstream(path_) << content;
    EXPECT_EQ(number(DiskCache(path_), "a"), std::nullopt) << content;
  }
}

TEST_F(DiskCacheFile, keeps_what_another_process_has_saved_meanwhile) {
  DiskCache mine(path_), other(path_);
  other.set("other's", 1.0);
  other.set("both's", 1.0);
  other.save();
  mine.set("both's", 2.0);
  mine.save();
  const DiskCache later(path_);
  EXPECT_EQ(number(later, "other's"), 1.0);
  EXPECT_EQ(number(later, "both's"), 2.0) << "the last one to save";
}

TEST_F(DiskCacheFile, forgets_here_and_not_on_disk) {
  DiskCache cache(path_);
  cache.set("a 1", 1.0);
  cache.set("a 2", 2.0);
  cache.set("b", 3.0);
  cache.save();
  cache.forget("a 1");
  EXPECT_EQ(number(cache, "a 1"), std::nullopt);
  double sum = 0;
  cache.for_each("a ", [&](const nlohmann::json& value) { sum += value.get<double>(); });
  EXPECT_EQ(sum, 2.0);
  cache.save();
  EXPECT_EQ(number(DiskCache(path_), "a 1"), 1.0);
}

TEST_F(DiskCacheFile, keeps_the_others_when_one_is_forgotten_before_it_was_saved) {
  DiskCache cache(path_);
  cache.set("forgotten", 1.0);
  cache.set("kept", 2.0);
  cache.forget("forgotten");
  cache.save();
  const DiskCache later(path_);
  EXPECT_EQ(number(later, "forgotten"), std::nullopt);
  EXPECT_EQ(number(later, "kept"), 2.0);
}

TEST_F(DiskCacheFile, keeps_nothing_without_a_path_and_leaves_no_part_behind) {
  DiskCache nowhere("");
  nowhere.set("a", 1.0);
  nowhere.save();
  DiskCache cache(path_);
  cache.set("a", 1.0);
  cache.save();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.file("deep"))) files += entry.is_regular_file();
  EXPECT_EQ(files, 1);
}

TEST(DiskCache, survives_a_folder_it_cannot_write) {
  DiskCache cache("/proc/no/such/folder/measured.json");
  cache.set("a", 2.0);
  cache.save();
  EXPECT_EQ(number(cache, "a"), 2.0);
}

TEST(StoredRatios, keep_exploration_bonuses) {
  const OperatorClass slow{.kind = "slow"};
  PooledRatios<OperatorClass> ratios;
  ratios.set_level(slow, {1.0, 12});
  ratios.add_exploration_bonus(slow, 0.3, 0.5);
  const auto read = ratios_from<OperatorClass>(to_json(ratios));
  EXPECT_EQ(read.levels().at(slow).log_ratio, 1.0);
  EXPECT_EQ(read.exploration_bonuses(), ratios.exploration_bonuses());
  const nlohmann::json broken = {{"slow", {1.0, 12}}, {"exploration", {{"slow", -1}, {"fast", "much"}, {"far", 1e9}}}};
  EXPECT_TRUE(ratios_from<OperatorClass>(broken).exploration_bonuses().empty());
  EXPECT_EQ(ratios_from<OperatorClass>(broken).levels().size(), 1u);
  const nlohmann::json earlier = {{"slow", {1.0, 12}}, {"hoped", {{"slow", 0.3}}}};
  EXPECT_EQ(ratios_from<OperatorClass>(earlier).exploration_bonuses(), ratios.exploration_bonuses());
}

}  // namespace
}  // namespace tandem
