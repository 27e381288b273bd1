// The promise of `tandem warm`: after it no plan, length or depth has to compile a kernel.
#include "engine/run/warm_kernels.h"

#include "engine/run/pass/timeline.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/made_encoders.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/small_shape.h"

namespace tandem::testing {
namespace {

// Warms the kernels in an empty folder. Then it runs every plan for many lengths and depths, and fails if any
// pass compiles.
void expect_nothing_to_compile(const std::string& model, ActType act, const ScratchFolder& folder) {
  EngineOptions warm = options_to_warm(model, "opencl:0", KvType::f16, act);
  warm.program_folder = folder.file("programs");
  bool compiled = false;
  warm.on_long_work = [&](const std::string&) { compiled = true; };
  {
    const auto engine = Engine::open(warm);
    warm_kernels(*engine, [](int64_t, int64_t) { return true; });
  }
  EXPECT_TRUE(compiled) << "the folder was empty";

  for (const char* plan : {"gpu-only", "layer", "rows", "tensor", "staggered", "sequence", "auto"}) {
    SCOPED_TRACE(plan);
    EngineOptions options = warm;
    options.plan = plan;
    options.only_layers_of_every_kind = false;
    options.context = 4096;  // deep enough to share an attention
    options.on_long_work = [](const std::string& what) { ADD_FAILURE() << what; };
    const auto engine = Engine::open(options);
    Sequence text = engine->cache().new_sequence();
    for (const int64_t tokens : {1, 2, 12, 31, 64, 256, 1, 189, 300, 5, 1, 2800, 1, 7, 100, 1}) {
      SCOPED_TRACE(std::to_string(tokens) + " tokens after " + std::to_string(text.position()));
      extend(*engine, text, some_ids(engine->model().config().vocabulary, tokens));
    }
    Timeline timeline;  // recorded passes have kernels of their own
    engine->machine().record(&timeline);
    extend(*engine, text, some_ids(engine->model().config().vocabulary, 1));
    engine->machine().record(nullptr);
  }
}

TEST(WarmKernels, leave_nothing_to_compile_whatever_the_plan_the_length_and_the_depth) {
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "there is no device opencl:0");
  const ScratchFolder folder;
  // The model has one wide KV head, so sharing it pays.
  TinyModel shape;
  shape.kv_heads = 1;
  shape.head_dim = 128;
  shape.type = StorageType::f16;
  const std::string model = folder.file("model.gguf");
  write_file(model, write_gguf(shape));
  expect_nothing_to_compile(model, ActType::f16, folder);
}

// Each pass of an encoder begins with new texts, and none is longer than there are embeddings of positions.
TEST(WarmKernels, of_encoders_end) {
  const ScratchFolder folder;
  for (const MadeModel& made : made_encoders()) {
    SCOPED_TRACE(made.name);
    EngineOptions one = options_to_warm(made.file(), "opencl:0", KvType::f16, ActType::f32);
    EngineOptions many = options_to_warm_many(made.file(), "opencl:0", KvType::f16, ActType::f32);
    for (EngineOptions* options : {&one, &many}) {
      options->devices = {"host"};
      options->plan = "host-only";
      options->program_folder = folder.file("programs");
      int64_t last = 0, of = 0;
      const auto tell = [&](int64_t done, int64_t total) { return last = done, of = total, true; };
      const auto engine = Engine::open(*options);
      options == &one ? warm_kernels(*engine, tell) : warm_kernels_of_many(*engine, tell);
      EXPECT_GT(of, 0);
      EXPECT_EQ(last, of);
    }
  }
}

TEST(WarmKernels, leave_nothing_to_compile_for_8_bit_activations) {
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "there is no device opencl:0");
  const ScratchFolder folder;
  const std::string model = folder.file("model.gguf");
  write_file(model, test::bytes_of(RandomModel(test::small_shape("llama-3.2-1b"), StorageType::q4_1, 1)));
  expect_nothing_to_compile(model, ActType::i8, folder);
}

}  // namespace
}  // namespace tandem::testing
