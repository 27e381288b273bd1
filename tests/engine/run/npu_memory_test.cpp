// --npu-memory: graphs of prompts and of single tokens have weights of their own, which are loaded while blocks run.
// No bit changes, and the weights in the NPU's memory never exceed the budget.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "engine/run/graph_passes.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TinyModel eight_layers() {
  TinyModel model;
  model.layers = 8;
  model.type = StorageType::f16;
  model.hidden = 128;
  model.feed_forward = 384;
  model.context_length = 512;
  return model;
}

constexpr uint64_t kPlenty = uint64_t{64} << 20;

class NpuMemory : public ::testing::Test {
 protected:
  EngineOptions options(uint64_t npu_memory_bytes = 0) const {
    EngineOptions options = engines_.options(100);
    options.plan = "npu-only";
    options.devices = {"npu:0", "host"};
    options.pack_cache_folder = folder_.file("packed");
    options.npu_memory_bytes = npu_memory_bytes;
    return options;
  }
  std::unique_ptr<Engine> open(uint64_t npu_memory_bytes) const { return Engine::open(options(npu_memory_bytes)); }
  static GraphMemory& memory_of(Engine& engine) { return engine.plans().graphs()->memory(); }

  // The bytes of the output's graph, of a block's graph, and of the blocks' graphs once. All blocks are of one size.
  struct Sizes {
    uint64_t output = 0, block = 0, blocks = 0;
    uint64_t least() const { return output + block * (blocks + 1); }
    uint64_t all() const { return output + 2 * block * blocks; }
  };
  Sizes sizes() const {
    const auto engine = open(kPlenty);
    const std::vector<sync::Slot*> slots = memory_of(*engine).slots();
    return {slots[0]->size_bytes(), slots[1]->size_bytes(), memory_of(*engine).blocks()};
  }
  std::string packed() const {
    for (const auto& entry : fs::directory_iterator(folder_.file("packed")))
      if (entry.path().extension() == ".packed") return entry.path();
    return "";
  }

  // Bytes of the graphs' slots that are in memory, by the system.
  static uint64_t resident_bytes(const GraphMemory& memory) {
    uint64_t bytes = 0;
    for (const sync::Slot* slot : memory.slots()) {
      std::vector<unsigned char> pages(slot->size_bytes() / 4096);
      EXPECT_EQ(mincore(slot->data(), slot->size_bytes(), pages.data()), 0);
      bytes += 4096 * static_cast<uint64_t>(std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
    }
    return bytes;
  }

  // Logits of a prompt, of two tokens one by one, of a second prompt behind them, and of a token.
  static std::vector<float> logits_of(Engine& engine, int prompt, const std::function<void()>& after_pass = {}) {
    std::vector<float> all;
    Sequence text = engine.cache().new_sequence();
    for (const int count : {prompt, 1, 1, 70, 1}) {
      const Logits logits = extend(engine, text, some_ids(count));
      all.insert(all.end(), logits.begin(), logits.end());
      if (after_pass) after_pass();
    }
    return all;
  }

  const HostEngines engines_{"graphs", eight_layers()};
  const ScratchFolder folder_;
};

TEST_F(NpuMemory, changes_no_bit_of_any_pass_in_any_way_of_loading) {
  const auto plain = open(0);
  ASSERT_EQ(plain->plans().graphs(), nullptr) << "without the option nothing of it runs";
  std::map<int, std::vector<float>> expected;
  for (const int prompt : {1, 64, 65, 290}) expected[prompt] = logits_of(*plain, prompt);
  const Sizes sizes = this->sizes();
  const std::optional<SwitchWay> ways[] = {std::nullopt, SwitchWay::progressive, SwitchWay::asynchronous,
                                           SwitchWay::synchronous};
  for (const uint64_t budget : {sizes.least(), sizes.least() + sizes.block, sizes.all()}) {
    const auto engine = open(budget);
    for (const auto& way : ways) {
      engine->plans().graphs()->use_way(way);
      for (const auto& [prompt, logits] : expected)
        EXPECT_EQ(logits_of(*engine, prompt), logits) << budget << " bytes, " << prompt << " tokens";
    }
    EXPECT_GT(memory_of(*engine).totals().loads, 0);
  }
}

// Blocks of a prompt that run their decode graphs, as switched blocks do.
TEST_F(NpuMemory, changes_no_bit_where_a_prompt_runs_on_decode_graphs) {
  const auto engine = open(0);
  Sequence text = engine->cache().new_sequence();
  const Logits logits = extend(*engine, text, some_ids(100));
  const std::vector<float> expected(logits.begin(), logits.end());
  const Plan whole = engine->plans().planner().plan_for({100, 1}, 0);
  const auto blocks = graph_blocks(8);
  const auto stay = [](const Operand& weight, GraphKind) { return weight; };
  const auto make = [&](const GraphId& id) {
    return fragment_of(whole, blocks, id, {true, false}, engine->options().graph_tokens, stay);
  };
  for (const GraphKind kind : {GraphKind::prefill, GraphKind::decode}) {
    std::fill_n(const_cast<float*>(logits.data()), logits.size(), 0.0f);
    engine->machine().orchestrator().run([&] {
      GraphChain chain(engine->machine().executor(), make, 4);
      chain.run({0, kind}, [&](const GraphId& ended) -> std::optional<GraphId> {
        if (ended.block == 3) return std::nullopt;
        return GraphId{ended.block + 1, kind};
      });
    });
    EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), expected) << to_string(kind);
  }
}

TEST_F(NpuMemory, writes_the_text_of_an_engine_without_it) {
  const auto plain = open(0), engine = open(sizes().least());
  for (const int prompt : {3, 150}) {
    const Generation expected = generate(*plain, some_ids(prompt), so_many(20));
    EXPECT_EQ(generate(*engine, some_ids(prompt), so_many(20)).ids, expected.ids);
  }
}

TEST_F(NpuMemory, is_never_exceeded_by_what_is_loaded_or_in_memory) {
  const Sizes sizes = this->sizes();
  for (const uint64_t budget : {sizes.least(), sizes.least() + 2 * sizes.block, sizes.all()}) {
    const auto engine = open(budget);
    const GraphMemory& memory = memory_of(*engine);
    for (const int prompt : {1, 290, 65})
      logits_of(*engine, prompt, [&] { EXPECT_LE(resident_bytes(memory), budget); });
    EXPECT_EQ(memory.totals().budget_bytes, budget);
    EXPECT_LE(memory.totals().peak_bytes, budget);
    EXPECT_LE(memory.totals().bytes, memory.totals().peak_bytes);
    EXPECT_GT(resident_bytes(memory), sizes.output) << "the count sees what is loaded";
  }
}

TEST_F(NpuMemory, keeps_both_graphs_of_as_many_first_blocks_as_fit_beside_one_load) {
  const Sizes sizes = this->sizes();
  ASSERT_EQ(sizes.blocks, 4u);
  const auto kept = [&](uint64_t budget) {
    const auto engine = open(budget);
    size_t count = 0;
    while (count < sizes.blocks && memory_of(*engine).keeps_both(count)) ++count;
    return count;
  };
  EXPECT_EQ(kept(sizes.least()), 0u);
  EXPECT_EQ(kept(sizes.least() + sizes.block - 1), 0u);
  EXPECT_EQ(kept(sizes.least() + sizes.block), 1u);
  EXPECT_EQ(kept(sizes.all()), 4u);
}

TEST_F(NpuMemory, loads_every_graph_once_where_all_fit_and_again_for_each_prompt_where_they_do_not) {
  const Sizes sizes = this->sizes();
  const auto loads_of_each_text = [&](uint64_t budget) {
    const auto engine = open(budget);
    std::vector<int64_t> loads;
    for (int text = 0; text < 3; ++text) {
      const int64_t before = memory_of(*engine).totals().loads;
      Sequence sequence = engine->cache().new_sequence();
      for (const int count : {90, 1, 1}) extend(*engine, sequence, some_ids(count));
      loads.push_back(memory_of(*engine).totals().loads - before);
    }
    return loads;
  };
  EXPECT_THAT(loads_of_each_text(sizes.all()), ::testing::ElementsAre(8, 0, 0));
  EXPECT_THAT(loads_of_each_text(sizes.least()), ::testing::ElementsAre(8, 8, 8));
}

TEST_F(NpuMemory, that_is_too_small_is_an_error_with_the_number_that_suffices) {
  const Sizes sizes = this->sizes();
  const std::string text = message_of([&] { open(sizes.least() - 1); });
  const uint64_t mebibytes = (sizes.least() + (1 << 20) - 1) >> 20;
  EXPECT_THAT(text, HasSubstr("the NPU's graphs do not fit its memory"));
  EXPECT_THAT(text, HasSubstr("at least --npu-memory " + std::to_string(mebibytes)));
  EXPECT_EQ(logits_of(*open(mebibytes << 20), 5), logits_of(*open(0), 5));
}

TEST_F(NpuMemory, needs_an_npu_and_a_folder_for_packed_weights) {
  EngineOptions host = options(kPlenty);
  host.plan = "host-only";
  host.devices = {"host"};
  EXPECT_THAT(message_of([&] { Engine::open(host); }), HasSubstr("there is no NPU with graphs: --npu-memory on host"));
  EngineOptions nowhere = options(kPlenty);
  nowhere.pack_cache_folder.clear();
  EXPECT_THAT(message_of([&] { Engine::open(nowhere); }), HasSubstr("packed weights are not kept"));
}

TEST_F(NpuMemory, of_plans_without_the_npu_stays_empty) {
  EngineOptions options = this->options();
  options.plan = "host-only";
  const auto plain = Engine::open(options);
  options.npu_memory_bytes = kPlenty;
  const auto engine = Engine::open(options);
  EXPECT_EQ(logits_of(*engine, 90), logits_of(*plain, 90));
  EXPECT_EQ(memory_of(*engine).totals().loads, 0);
}

// The file is cut behind the open engine, so the next load fails.
TEST_F(NpuMemory, ends_a_pass_with_an_error_where_the_file_is_cut_and_leaves_the_text) {
  const auto engine = open(sizes().least());
  Sequence text = engine->cache().new_sequence();
  extend(*engine, text, some_ids(5));
  const auto whole = fs::file_size(packed());
  for (const uintmax_t bytes : {whole / 2, uintmax_t{0}}) {
    fs::resize_file(packed(), bytes);
    for (int again = 0; again < 2; ++again)
      EXPECT_THAT(message_of([&] { extend(*engine, text, some_ids(90)); }), HasSubstr(packed()));
    EXPECT_EQ(text.position(), 5);
  }
  EXPECT_LE(memory_of(*engine).totals().peak_bytes, memory_of(*engine).totals().budget_bytes);
}

// Two engines of one model share the memory, and each takes what the other had loaded.
TEST_F(NpuMemory, is_shared_by_the_engines_of_a_model) {
  const Sizes sizes = this->sizes();
  const EngineOptions one = options(sizes.least());
  const auto machine = make_machine(one);
  const auto model = std::make_shared<LoadedModel>(machine, one);
  Engine first(model, one), second(model, one);
  const auto plain = open(0);
  Sequence a = first.cache().new_sequence(), b = second.cache().new_sequence(), c = plain->cache().new_sequence();
  for (const int count : {150, 1, 80, 1}) {
    const Logits expected = extend(*plain, c, some_ids(count));
    const std::vector<float> values(expected.begin(), expected.end());
    for (auto [engine, text] : {std::pair(&first, &a), std::pair(&second, &b)}) {
      const Logits logits = extend(*engine, *text, some_ids(count));
      EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), values);
    }
  }
  EXPECT_LE(memory_of(first).totals().peak_bytes, sizes.least());
}

// Spans of a prompt of three chunks, and of the token behind it.
class LoadsInTheTimeline : public NpuMemory {
 protected:
  void record(SwitchWay way) {
    const auto engine = open(sizes().least());
    Sequence text = engine->cache().new_sequence();
    engine->plans().graphs()->use_way(way);
    engine->machine().record(&timeline_);
    extend(*engine, text, some_ids(290));
    const size_t prompt = timeline_.spans().size();
    extend(*engine, text, some_ids(1));
    engine->machine().record(nullptr);
    for (size_t i = 0; i < prompt; ++i)
      if (timeline_.spans()[i].track == kPassTrack) passes_.push_back(timeline_.spans()[i]);
    for (const Span& span : timeline_.spans())
      if (span.track == kLoadTrack && span.name.starts_with("decode")) loads_.push_back(span);
    ASSERT_EQ(passes_.size(), 3u) << "fragments are one pass";
    ASSERT_EQ(loads_.size(), 4u);
    std::ranges::sort(loads_, {}, &Span::start_seconds);
  }
  // When the last operator of these layers ended in the prompt.
  double end_of_layer(int64_t layer) const {
    double end = 0;
    for (const Span& span : timeline_.spans())
      if (span.name.starts_with("blk." + std::to_string(layer) + ".") && span.end_seconds <= passes_.back().end_seconds)
        end = std::max(end, span.end_seconds);
    return end;
  }

  Timeline timeline_;
  std::vector<Span> passes_, loads_;
};

TEST_F(LoadsInTheTimeline, lie_beside_the_last_chunks_from_the_last_block_on) {
  record(SwitchWay::progressive);
  EXPECT_EQ(loads_.front().name, "decode graph of layers 6 to 7");
  EXPECT_LT(loads_.front().start_seconds, passes_.back().end_seconds);
  EXPECT_GT(loads_.front().bytes, 0);
  EXPECT_LE(loads_.front().start_seconds, end_of_layer(0)) << "before the last chunk's first block has ended";
}

TEST_F(LoadsInTheTimeline, follow_their_blocks_in_the_last_chunk_if_they_are_asynchronous) {
  record(SwitchWay::asynchronous);
  for (size_t b = 0; b < loads_.size(); ++b) {
    EXPECT_EQ(loads_[b].name, "decode graph of layers " + std::to_string(2 * b) + " to " + std::to_string(2 * b + 1));
    EXPECT_GE(loads_[b].start_seconds, end_of_layer(static_cast<int64_t>(2 * b + 1)));
  }
}

TEST_F(LoadsInTheTimeline, follow_the_prompt_if_they_are_synchronous) {
  record(SwitchWay::synchronous);
  for (const Span& load : loads_) EXPECT_GE(load.start_seconds, end_of_layer(7));
}

// Nothing changes the times between the question here and that of the pass.
TEST_F(NpuMemory, loads_as_the_schedule_of_measured_times_says_before_each_chunk) {
  const auto engine = open(sizes().least());
  GraphPasses& graphs = *engine->plans().graphs();
  logits_of(*engine, 290);  // all times are known
  std::vector<int64_t> lengths;
  for (const Batch& chunk : engine->plans().chunks_of(0, 290)) lengths.push_back(chunk.S);
  ASSERT_EQ(lengths.size(), 3u);
  const auto begins_with = [&](size_t chunk) {
    const auto left = static_cast<int64_t>(lengths.size() - 1 - chunk);
    const GraphSwitchTimes times =
        graphs.times({lengths[chunk], left, [](int64_t) -> double { throw Error("predicted", "a known time"); }});
    EXPECT_EQ(times.chunks, left + 1);
    EXPECT_EQ(times.blocks(), 4);
    for (size_t b = 0; b < 4; ++b) EXPECT_GT(std::min({times.prefill[b], times.decode[b], times.load[b]}), 0) << b;
    return way_that_begins(times);
  };
  for (int text = 0; text < 5; ++text) {
    Sequence sequence = engine->cache().new_sequence();
    size_t chunk = 0;
    std::optional<SwitchWay> begins = begins_with(0);
    const auto look = [&](int64_t, int64_t) {
      EXPECT_EQ(graphs.way(), begins) << "chunk " << chunk;
      if (++chunk < lengths.size() && !begins) begins = begins_with(chunk);
    };
    extend(*engine, sequence, some_ids(290), {.progress = look});
    EXPECT_EQ(chunk, lengths.size());
    EXPECT_TRUE(begins) << "at the latest with the last chunk";
    extend(*engine, sequence, some_ids(1));
  }
}

// Models of the repository, with a prompt in one pass and in several.
TEST(NpuMemoryOfModels, keeps_greedy_texts_and_logits_on_every_device) {
  const ScratchFolder folder;
  const bool has_gpu = std::ranges::count(available_devices(), "opencl:0") > 0;
  std::vector<std::pair<std::string, std::vector<std::string>>> ways = {{"npu-only", {"npu:0", "host"}},
                                                                        {"auto", {"npu:0", "host"}}};
  if (has_gpu)
    for (const char* plan : {"layer", "tensor", "staggered", "sequence"})
      ways.push_back({plan, {"opencl:0", "npu:0", "host"}});
  for (const auto& [plan, devices] : ways) {
    EngineOptions options = options_for(repository_data("tiny-models/stories260K-F16.gguf"), {plan, {}});
    options.devices = devices;
    options.chunk = 150;
    options.context = 400;
    options.pack_cache_folder = folder.file("packed");
    const auto plain = Engine::open(options);
    options.npu_memory_bytes = uint64_t{1} << 20;
    const auto engine = Engine::open(options);
    EXPECT_EQ(greedy(*engine, some_ids(290), 12), greedy(*plain, some_ids(290), 12)) << plan;
    Sequence one = engine->cache().new_sequence(), other = plain->cache().new_sequence();
    for (const int count : {200, 1, 7}) {
      const Logits expected = extend(*plain, other, some_ids(count));
      const std::vector<float> values(expected.begin(), expected.end());
      const Logits logits = extend(*engine, one, some_ids(count));
      EXPECT_EQ(std::vector<float>(logits.begin(), logits.end()), values) << plan;
    }
    EXPECT_GT(engine->model().graph_memory()->totals().loads, 0) << plan;
  }
}

}  // namespace
}  // namespace tandem::testing
