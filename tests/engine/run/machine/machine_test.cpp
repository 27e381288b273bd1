// Models and engines that share a machine.
#include "engine/run/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/run/serve/generate.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

// One model drafts and one verifies. They have different shapes.
class OneMachine : public ::testing::Test {
 protected:
  static EngineOptions on(std::vector<std::string> devices, const std::string& plan, const HostEngines& file) {
    EngineOptions options = file.options();
    options.devices = std::move(devices);
    options.plan = plan;
    options.context = 128;
    return options;
  }
  static std::vector<float> copy_of(std::span<const float> logits) { return {logits.begin(), logits.end()}; }

  // Compares the logits of two engines by turns on one machine with those of each engine alone.
  void expect_bits_of_each_alone(const std::vector<std::string>& devices, const std::string& plan) {
    const EngineOptions small = on(devices, plan, small_), large = on(devices, plan, large_);
    const std::vector<size_t> lengths = {5, 1, 1, 17, 1, 3, 1};
    const auto pieces = [&](const std::function<void(std::span<const int32_t>)>& run) {
      const std::vector<int32_t> ids = some_ids(40);
      size_t begin = 0;
      for (const size_t length : lengths) {
        run(std::span(ids).subspan(begin, length));
        begin += length;
      }
    };
    std::vector<std::vector<float>> expected, found;
    {
      const auto first = Engine::open(small);
      Sequence text = first->cache().new_sequence();
      pieces([&](auto ids) { expected.push_back(copy_of(extend(*first, text, ids))); });
    }
    {
      const auto second = Engine::open(large);
      Sequence text = second->cache().new_sequence();
      size_t i = 0;
      pieces([&](auto ids) {
        expected.insert(expected.begin() + static_cast<ptrdiff_t>(2 * i++ + 1), copy_of(extend(*second, text, ids)));
      });
    }
    const auto machine = std::make_shared<Machine>(small, chosen_strategy(plan));
    Engine draft(std::make_shared<LoadedModel>(machine, small), small);
    Engine target(std::make_shared<LoadedModel>(machine, large), large);
    EXPECT_EQ(&draft.machine(), &target.machine());
    Sequence drafted = draft.cache().new_sequence(), verified = target.cache().new_sequence();
    pieces([&](auto ids) {
      found.push_back(copy_of(extend(draft, drafted, ids)));
      found.push_back(copy_of(extend(target, verified, ids)));
    });
    EXPECT_EQ(found, expected);
  }

  const HostEngines small_{"small", {.type = StorageType::f16}};
  const HostEngines large_{"large", {.layers = 3, .hidden = 256, .type = StorageType::f16}};
};

TEST_F(OneMachine, runs_two_models_by_turns_with_the_bits_of_each_alone) {
  expect_bits_of_each_alone({"host"}, "host-only");
}

TEST_F(OneMachine, runs_two_models_by_turns_on_a_gpu_and_an_npu) {
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "there is no device opencl:0");
  expect_bits_of_each_alone({"opencl:0", "npu:0"}, "tensor");
}

// The second engine's texts use the weights that are already loaded.
TEST_F(OneMachine, has_one_set_of_weights_for_two_engines_of_a_model) {
  const EngineOptions options = on({"host"}, "host-only", large_);
  const auto machine = std::make_shared<Machine>(options);
  const auto model = std::make_shared<LoadedModel>(machine, options);
  TextOptions exact = options;
  exact.kv_type = KvType::f32;
  Engine first(model, options), second(model, exact);
  EXPECT_EQ(&first.model(), &second.model());
  const std::vector<int32_t> ids = some_ids(30);
  Sequence of_halves = first.cache().new_sequence(), of_whole = second.cache().new_sequence();
  const Logits halves = extend(first, of_halves, ids), whole = extend(second, of_whole, ids);
  EXPECT_FALSE(std::ranges::equal(halves, whole)) << "each has a cache of its own";
  of_whole.rewind(0);
  EXPECT_EQ(of_halves.position(), 30);
  EXPECT_TRUE(std::ranges::equal(extend(second, of_whole, ids), whole));
}

TEST_F(OneMachine, takes_back_the_memory_of_a_model_that_is_no_longer_used) {
  const EngineOptions options = on({"host"}, "host-only", large_);
  const auto machine = std::make_shared<Machine>(options);
  std::optional<size_t> after_first;
  for (int i = 0; i < 3; ++i) {
    Engine engine(std::make_shared<LoadedModel>(machine, options), options);
    Sequence text = engine.cache().new_sequence();
    extend(engine, text, some_ids(4));
    if (!after_first) after_first = machine->pool().mapped_bytes();
    EXPECT_EQ(machine->pool().mapped_bytes(), *after_first) << i;
  }
}

TEST_F(OneMachine, says_what_is_wrong_with_its_devices) {
  EngineOptions twice = on({"host", "host"}, "host-only", small_);
  const auto machine = std::make_shared<Machine>(twice);
  EXPECT_THAT([&] { LoadedModel(machine, twice); }, ::testing::ThrowsMessage<Error>(HasSubstr("named twice")));
  EXPECT_FALSE(machine->is_open());
  EXPECT_THAT([&] { LoadedModel(machine, twice); }, ::testing::ThrowsMessage<Error>(HasSubstr("named twice")));
  EXPECT_EQ(machine->device_names(), "host,host") << "those of the last attempt alone";
}

// A machine may be opened before any model is known.
TEST_F(OneMachine, is_opened_once) {
  const EngineOptions options = on({"host"}, "host-only", small_);
  const auto machine = std::make_shared<Machine>(options);
  EXPECT_FALSE(machine->is_open());
  EXPECT_EQ(machine->device_names(), "");
  machine->open_devices();
  EXPECT_EQ(machine->device_names(), "host");
  EXPECT_FALSE(message_of([&] { machine->open_devices(); }).empty());
  Engine engine(std::make_shared<LoadedModel>(machine, options), options);
  Sequence text = engine.cache().new_sequence();
  EXPECT_EQ(extend(engine, text, some_ids(3)).size(), 320u);
}

}  // namespace
}  // namespace tandem::testing
