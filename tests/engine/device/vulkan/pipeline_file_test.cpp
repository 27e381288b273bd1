// Compiled pipelines on disk: they are kept, and ignored if they are damaged or belong to another device.
#include "engine/device/vulkan/pipeline_file.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/engine/device/vulkan/vulkan_test.h"
#include "tests/support/scratch_folder.h"

namespace tandem::vulkan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

// A fixture with a folder of its own, and the log of the test.
class PipelineFiles : public VulkanTest {
 protected:
  PipelineFiles() {
    key_.device[0] = 1, key_.driver[0] = 2, key_.cache[0] = 3, key_.driver_version = 7, key_.shaders = 42;
    before_ = spdlog::default_logger();
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
    logger->set_level(spdlog::level::info);
    spdlog::set_default_logger(logger);
  }
  ~PipelineFiles() override { spdlog::set_default_logger(before_); }
  void SetUp() override {
    VulkanTest::SetUp();
    log_.str("");  // VulkanTest::SetUp() may try drivers, and the log says so
  }
  PipelineFile file() const { return PipelineFile(folder_, key_); }
  std::string content() const {
    std::ifstream in(file().path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void set_content(const std::string& bytes) const { std::ofstream(file().path(), std::ios::binary) << bytes; }
  void expect_ignored(const char* why) {
    EXPECT_FALSE(file().load());
    EXPECT_THAT(log_.str(), HasSubstr(why));
    EXPECT_THAT(log_.str(), HasSubstr(file().path()));
  }

  const std::vector<char> data_{'p', 'i', 'p', 'e', '\0', '\xff'};
  const testing::ScratchFolder scratch_;
  const std::string folder_ = scratch_.path();
  PipelineKey key_;
  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> before_;
};

TEST_F(PipelineFiles, give_back_what_was_saved_and_leave_nothing_beside_it) {
  EXPECT_FALSE(file().load());
  file().save(data_);
  EXPECT_EQ(file().load(), data_);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(log_.str(), "");
}

TEST_F(PipelineFiles, cut_off_anywhere_are_ignored_with_a_notice) {
  file().save(data_);
  const std::string whole = content();
  for (const size_t length : {size_t{0}, size_t{7}, whole.size() - data_.size(), whole.size() - 1}) {
    log_.str("");
    set_content(whole.substr(0, length));
    expect_ignored("cut off");
  }
  set_content(whole + "x");
  EXPECT_FALSE(file().load());
}

TEST_F(PipelineFiles, with_any_flipped_bit_are_ignored_with_a_notice) {
  file().save(data_);
  const std::string whole = content();
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    set_content(damaged);
    EXPECT_FALSE(file().load()) << "byte " << i;
  }
  EXPECT_THAT(log_.str(), HasSubstr("damaged"));
  EXPECT_THAT(log_.str(), HasSubstr("no pipeline cache"));
}

TEST_F(PipelineFiles, of_another_driver_version_or_other_shaders_are_ignored_and_replaced) {
  file().save(data_);
  key_.driver_version = 8;
  expect_ignored("another driver");
  key_.driver_version = 7, key_.shaders = 43;
  expect_ignored("another driver");
  EXPECT_THAT(log_.str(), Not(HasSubstr("warning"))) << "an update of program or driver is nothing to warn of";
  const std::vector<char> newer{'n'};
  file().save(newer);
  EXPECT_EQ(file().load(), newer);
}

TEST_F(PipelineFiles, that_somebody_copied_from_another_device_are_ignored_with_a_warning) {
  file().save(data_);
  const std::string other = content();
  key_.device[3] = 9;
  set_content(other);
  expect_ignored("another driver");
  EXPECT_THAT(log_.str(), HasSubstr("warning"));
}

TEST_F(PipelineFiles, of_two_devices_do_not_touch_each_other) {
  file().save(data_);
  PipelineKey other = key_;
  other.device[3] = 9;
  PipelineFile second(folder_, other);
  second.save({'2'});
  EXPECT_EQ(file().load(), data_);
}

TEST_F(PipelineFiles, in_a_folder_that_cannot_be_written_are_a_notice_and_no_error) {
  std::ofstream(folder_ + "/a_file") << "not a folder";
  const PipelineFile file(folder_ + "/a_file/below", key_);
  file.save(data_);
  EXPECT_FALSE(file.load());
  EXPECT_THAT(log_.str(), HasSubstr("cannot be kept"));
}

TEST_F(PipelineFiles, are_made_by_a_device_and_a_damaged_one_does_not_keep_it_from_opening) {
  Tuning tuning;
  tuning.cache_folder = folder_;
  open({}, tuning).reset();
  std::string path;
  for (const auto& entry : fs::directory_iterator(folder_)) path = entry.path().string();
  ASSERT_THAT(path, HasSubstr(".pipelines"));
  EXPECT_EQ(log_.str(), "");
  open({}, tuning).reset();
  EXPECT_EQ(log_.str(), "") << "its own file is used";
  std::ofstream(path, std::ios::binary) << "garbage";
  const auto device = open({}, tuning);
  EXPECT_EQ(device->info().id, "vulkan:0");
  EXPECT_THAT(log_.str(), HasSubstr(path));
}

}  // namespace
}  // namespace tandem::vulkan
