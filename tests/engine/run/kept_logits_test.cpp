// Every plan gives the kept bits. (golden_models_test.cpp and contract_test.cpp also compare their runs: more models,
// and both types of activations and of the cache.)
#include "tests/engine/run/kept_logits.h"

#include "tests/engine/run/golden.h"

namespace tandem::testing {
namespace {

TEST(KeptLogits, are_given_by_every_plan_there_is) {
  for (const char* model : {"tiny-models/stories260K-F16.gguf", "mixed-models/first.gguf"}) {
    const std::string path = repository_data(model);
    for (const Strategy& strategy : strategies_for_any_model()) {
      const std::string plan = strategy.name;
      const Way way{plan, plan == "rows" ? std::vector{0.5} : std::vector<double>(), "simd", ActType::f16, KvType::f16};
      SCOPED_TRACE(std::string(model) + " " + way.name());
      const auto engine = open_engine(path, way);
      const auto ids = some_ids(engine->model().config().vocabulary, 70);
      EXPECT_TRUE(expect_kept_logits(*engine, path, "70 ids", KvType::f16, all_logits(*engine, ids)));
    }
  }
}

// A change of one bit of one logit changes the hash.
TEST(KeptLogits, differ_by_a_single_bit) {
  std::vector<float> logits = {0.5f, -0.0f, 3};
  const std::string before = hash_of(logits);
  logits[1] = 0.0f;
  EXPECT_NE(hash_of(logits), before);
  EXPECT_FALSE(kept_logits().empty());
}

}  // namespace
}  // namespace tandem::testing
