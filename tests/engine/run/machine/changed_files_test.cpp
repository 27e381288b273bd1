// Files that are cut or overwritten while an engine uses them cause an Error that names the file, and no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "engine/model/loading.h"
#include "sync/error.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ChangedFiles : public ::testing::Test {
 protected:
  EngineOptions options() const {
    EngineOptions options = engines_.options();
    options.pack_cache_folder = folder_.file("packed");
    return options;
  }
  std::string packed() const {
    for (const auto& entry : fs::directory_iterator(folder_.file("packed")))
      if (entry.path().extension() == ".packed") return entry.path();
    return "";
  }

  static std::vector<float> logits_of(Engine& engine, Sequence& text) {
    const Logits logits = extend(engine, text, some_ids(5));
    return {logits.begin(), logits.end()};
  }
  static std::vector<float> logits_of(Engine& engine) {
    Sequence text = engine.cache().new_sequence();
    return logits_of(engine, text);
  }

  const HostEngines engines_{"changed"};
  const ScratchFolder folder_;
};

TEST_F(ChangedFiles, of_a_model_fail_its_loading) {
  for (const bool cut : {true, false}) {
    const HostEngines engines(cut ? "cut" : "touched");
    EngineOptions options = engines.options();
    options.load_progress = [&](uint64_t, uint64_t) {
      if (cut)
        fs::resize_file(engines.path(), 100);
      else
        fs::last_write_time(engines.path(), fs::file_time_type::clock::now() + std::chrono::hours(1));
    };
    EXPECT_THAT(
        message_of([&] { Engine::open(options); }),
        HasSubstr("the file changed or could not be read while it was in use: " + fs::path(engines.path()).string()));
  }
}

TEST_F(ChangedFiles, of_a_model_are_noticed_where_its_pages_are_gone) {
  const GgufFile file = GgufFile::open(engines_.path());
  fs::resize_file(engines_.path(), 4096);
  sync::Pool pool;
  load_model(file, pool, 2);
  EXPECT_THAT(message_of([&] { file.require_unchanged(); }), HasSubstr(engines_.path()));
}

TEST_F(ChangedFiles, that_are_replaced_by_another_of_their_name_are_none) {
  const HostEngines other("other");
  EngineOptions options = engines_.options();
  options.load_progress = [&](uint64_t, uint64_t) {
    if (fs::exists(other.path())) fs::rename(other.path(), engines_.path());
  };
  EXPECT_EQ(logits_of(*Engine::open(options)).size(), 320u);
}

TEST_F(ChangedFiles, of_packed_weights_fail_the_pass_and_not_the_process) {
  Engine::open(options());  // writes the packed weights
  ASSERT_NE(packed(), "");
  const std::vector<float> expected = logits_of(*engines_.open());
  const auto engine = Engine::open(options());
  Sequence text = engine->cache().new_sequence();
  EXPECT_EQ(logits_of(*engine, text), expected);
  fs::resize_file(packed(), 0);
  for (int again = 0; again < 2; ++again)
    EXPECT_THAT(message_of([&] { extend(*engine, text, some_ids(2)); }),
                HasSubstr("the file changed or could not be read while it was in use: " + packed()));
  EXPECT_EQ(text.position(), 5);
  EXPECT_EQ(logits_of(*Engine::open(options())), expected) << "packed again";
}

}  // namespace
}  // namespace tandem::testing
