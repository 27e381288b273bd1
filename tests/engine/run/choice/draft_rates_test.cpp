#include "engine/run/choice/draft_rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

constexpr DraftClass kShort{DraftSource::context, 1, DraftPlace::newest};

TEST(DraftRates, outlive_the_process) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("measured.json");
  AcceptanceRates rates;
  for (int i = 0; i < 20; ++i) rates.add(kShort, true);
  {
    DiskCache cache(path);
    EXPECT_EQ(kept_draft_rates(cache).probability(kShort), AcceptanceRates().probability(kShort));
    keep_draft_rates(rates, cache);
    cache.save();
  }
  EXPECT_DOUBLE_EQ(kept_draft_rates(DiskCache(path)).probability(kShort), rates.probability(kShort));
}

TEST(DraftRates, that_are_damaged_are_the_priors) {
  const double prior = AcceptanceRates().probability(kShort);
  for (const char* text : {"7", "{}", "[]", "[[1, 2]]", "[1, 2]", R"(["a"])", "null"}) {
    DiskCache cache("");
    cache.set("drafts 1", nlohmann::json::parse(text));
    EXPECT_EQ(kept_draft_rates(cache).probability(kShort), prior) << text;
  }
}

}  // namespace
}  // namespace tandem
