// On OpenCL, operators of a few tokens have the same bits in a list as in single launches of
// kernels (engine/device/opencl/list_launcher.h).
#include <map>
#include <set>

#include "engine/device/lab/lab.h"
#include "engine/device/opencl/opencl_device.h"
#include "tests/engine/device/run_case.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

constexpr int64_t kMost = 16;

// The number of cases for each kind of operator, and for products for each kind of codes. Each variant is compiled
// twice, which takes a fraction of a second.
constexpr int kOfEachKind = 2;

std::string kind_of(const Operator& op) {
  const auto format = [](const PackedFormat& f, bool act_i8) { return " " + to_string(f) + (act_i8 ? " i8" : ""); };
  std::string kind = kind_name(op);
  if (const auto* matmul = std::get_if<MatMul>(&op.body)) kind += format(matmul->w.format, matmul->act_i8);
  if (const auto* grouped = std::get_if<GroupedMatMul>(&op.body)) kind += format(grouped->w.format, grouped->act_i8);
  if (const auto* attention = std::get_if<Attention>(&op.body))
    kind +=
        std::string(attention->segments.count > 1 ? " of many" : "") + (attention->segments.depth > 0 ? " trees" : "");
  return kind;
}

bool is_typical(const Operator& op) {
  const auto typical = [](const PackedFormat& format) {
    return format == packed_format(StorageType::q4_1) || format == packed_format(StorageType::q8_0);
  };
  if (const auto* matmul = std::get_if<MatMul>(&op.body)) return typical(matmul->w.format);
  if (const auto* grouped = std::get_if<GroupedMatMul>(&op.body)) return typical(grouped->w.format);
  if (const auto* attention = std::get_if<Attention>(&op.body)) return attention->cache.type == KvType::f16;
  return true;
}

std::vector<OpCase> cases_of_few_tokens() {
  std::vector<OpCase> all = all_cases(), chosen;
  for (auto& [of_tree, of_texts] : attention_cases_of_trees()) all.push_back(of_tree);
  std::map<std::string, int> seen;
  sync::Pool pool;
  for (OpCase& op_case : all) {
    CaseMemory memory(pool);
    const Operator op = op_case.build(memory).op;
    const int64_t tokens = tokens_of(op);
    if (tokens > 1 && tokens <= kMost && is_typical(op) && seen[kind_of(op)]++ < kOfEachKind)
      chosen.push_back(std::move(op_case));
    for (sync::Slot* slot : memory.slots()) pool.release(*slot);
  }
  return chosen;
}

// Opens a device with one worker.
std::unique_ptr<Device> open_listing(int64_t tokens) {
  DeviceOptions options;
  options.gpu_family = KernelFamily::simd;
  options.gpu_cores = {0};
  options.listed_tokens = tokens;
  return open_opencl_device(0, options);
}

TEST(ListedBits, of_operators_of_a_few_tokens_are_those_of_single_launches) {
  if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  Bench single, listing;
  single.device = open_listing(1);
  listing.device = open_listing(kMost);
  if (listing.device->info().listed_tokens != kMost) GTEST_SKIP() << "skipped: this driver has more than one worker";
  const std::vector<OpCase> cases = cases_of_few_tokens();
  std::vector<BuiltCase> alone, listed;
  std::vector<OpCase> ran;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<PlannedLaunch> launches;
  std::set<std::string> kinds;
  for (const OpCase& op_case : cases) {
    SCOPED_TRACE(op_case.name);
    CaseMemory memory(single.pool), of_list(listing.pool);
    BuiltCase one = op_case.build(memory);
    if (!single.device->supports(one.op).yes) continue;
    single.run({&one.op, 1});
    kinds.insert(kind_name(one.op));
    alone.push_back(std::move(one));
    listed.push_back(op_case.build(of_list));
    ran.push_back(op_case);
  }
  for (const BuiltCase& one : listed) {
    programs.push_back(listing.device->prepare({&one.op, 1}));
    launches.push_back({programs.back().get(), {}, {}});
  }
  for (const char* kind : {"matmul", "grouped_matmul", "attention", "kv_append", "rms_norm", "rope", "swiglu"})
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  launches.back().signal = {listing.done, ++listing.epoch};
  lab_of(*listing.device).record_spans(true);
  listing.device->launch(make_sequence(*listing.device, std::move(launches)), 0);
  listing.device->finish(std::chrono::minutes(10));  // the kernel that writes time stamps is compiled here
  for (const DeviceSpan& span : lab_of(*listing.device).take_spans()) EXPECT_FALSE(span.alone) << "no list ran it";
  ASSERT_TRUE(listing.done.reached(listing.epoch));
  for (size_t i = 0; i < ran.size(); ++i) EXPECT_TRUE(same_bits(alone[i], listed[i])) << ran[i].name;
}

}  // namespace
}  // namespace tandem::testing
