#include "engine/device/host/host_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "engine/device/host/arithmetic.h"
#include "engine/device/host/loops.h"
#include "engine/device/lab/lab.h"
#include "engine/device/registry.h"
#include "engine/tensor/types.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem {
namespace {

using std::chrono::seconds;

struct HostDeviceTest : ::testing::Test {
  sync::Pool pool;
  sync::FlagBank flags{pool, 8, "flags"};
  sync::Slot& slot = pool.acquire(4096, sync::SlotUse::activations, "numbers");
  std::unique_ptr<Device> device = make_host_device(HostArithmetic::contract, 2);

  // Runs x[0..3] += y[0..3], where y holds ones.
  Operator add_ones() {
    Add op;
    op.S = 1, op.width = 4, op.x = {&slot, 0}, op.y = {&slot, 64}, op.x_stride = op.y_stride = 4;
    for (int i = 0; i < 4; ++i) slot.as<float>(64)[i] = 1;
    return {"add ones", op};
  }
  Operator embed_of(int32_t id) {
    Embed op;
    op.S = 1, op.H = 4, op.w = {packed_format(StorageType::f32), 2, 4, {&slot, 1024}}, op.ids = {&slot, 128},
    op.y = {&slot, 256};
    *slot.as<int32_t>(128) = id;
    return {"embed", op};
  }
};

TEST_F(HostDeviceTest, launches_run_in_order_and_raise_their_flags) {
  const sync::Flag flag = flags.make("done");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  for (uint32_t i = 1; i <= 5; ++i) launch_one(*device, *program, {}, {flag, i});
  sync::make_waiter(sync::Policy::blocking)
      ->wait(flag, 5, {.step = "add", .device = "host", .advice = {}, .block = {}});
  EXPECT_EQ(slot.as<float>()[3], 5.0f);
}

TEST_F(HostDeviceTest, a_launch_returns_at_once_and_starts_when_its_flag_is_raised) {
  const sync::Flag gate = flags.make("gate"), done = flags.make("done");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  const sync::WaitFor wait{gate, 1};
  launch_one(*device, *program, {&wait, 1}, {done, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(done.reached(1)) << "the gate is still down";
  gate.raise(1);
  device->finish(seconds(10));
  EXPECT_TRUE(done.reached(1));
  EXPECT_EQ(slot.as<float>()[0], 1.0f);
}

TEST_F(HostDeviceTest, a_failure_is_on_the_flag_and_thrown_by_finish_once) {
  const sync::Flag flag = flags.make("done"), later = flags.make("later");
  const Operator bad = embed_of(7), good = add_ones();
  const auto bad_program = device->prepare({&bad, 1}), good_program = device->prepare({&good, 1});
  const sync::WaitFor never{flags.make("gate"), 1};
  launch_one(*device, *bad_program, {&never, 1}, {flag, 1});
  launch_one(*device, *good_program, {}, {later, 1});
  never.flag.raise(1);
  EXPECT_THROW(device->finish(seconds(10)), Error);
  EXPECT_TRUE(flag.failed());
  EXPECT_NE(flag.failure().find("id 7"), std::string::npos) << flag.failure();
  EXPECT_TRUE(later.failed()) << "what comes after a failure is skipped";
  EXPECT_EQ(slot.as<float>()[0], 0.0f);
  EXPECT_NO_THROW(device->finish(seconds(10)));
  const sync::Flag again = flags.make("again");
  launch_one(*device, *good_program, {}, {again, 1});
  device->finish(seconds(10));
  EXPECT_TRUE(again.reached(1)) << "the device works on after finish() reported the failure";
}

TEST_F(HostDeviceTest, a_failed_gate_fails_the_step_that_waits_for_it) {
  const sync::Flag gate = flags.make("gate"), done = flags.make("done");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  const sync::WaitFor wait{gate, 1};
  launch_one(*device, *program, {&wait, 1}, {done, 1});
  gate.fail("the other device burnt down");
  EXPECT_THROW(device->finish(seconds(10)), Error);
  EXPECT_NE(done.failure().find("burnt down"), std::string::npos) << done.failure();
}

TEST_F(HostDeviceTest, an_operand_outside_its_slot_is_refused_by_prepare) {
  Operator op = add_ones();
  std::get<Add>(op.body).width = 2000;
  EXPECT_THROW(device->prepare({&op, 1}), Error);
  std::get<Add>(op.body).x = {};
  EXPECT_THROW(device->prepare({&op, 1}), Error);
}

TEST_F(HostDeviceTest, a_position_outside_the_rotation_table_fails_the_step) {
  Rope op;
  op.S = 1, op.heads = 1, op.head_dim = op.rot_dim = 4, op.x = {&slot, 0}, op.x_stride = 4;
  op.positions = {&slot, 128}, op.table = {&slot, 256}, op.table_positions = 3;
  const Operator rope{"rope", op};
  const auto program = device->prepare({&rope, 1});
  *slot.as<int32_t>(128) = 3;
  launch_one(*device, *program, {}, {});
  EXPECT_THROW(device->finish(seconds(10)), Error);
  *slot.as<int32_t>(128) = 2;
  launch_one(*device, *program, {}, {});
  EXPECT_NO_THROW(device->finish(seconds(10)));
}

TEST_F(HostDeviceTest, what_it_does_not_support_is_refused_by_prepare_with_the_reason) {
  Attention op;
  op.cache.head_dim_v = 1024;
  const Operator attention{"attention", op};
  EXPECT_FALSE(device->supports(attention).yes);
  EXPECT_THROW(device->prepare({&attention, 1}), Error);
}

TEST_F(HostDeviceTest, spans_are_recorded_only_when_asked_for) {
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  launch_one(*device, *program, {}, {});
  device->finish(seconds(10));
  EXPECT_TRUE(lab_of(*device).take_spans().empty());
  lab_of(*device).record_spans(true);
  launch_one(*device, *program, {}, {});
  device->finish(seconds(10));
  const auto spans = lab_of(*device).take_spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].program, program.get());
  EXPECT_LE(spans[0].start_seconds, spans[0].end_seconds);
}

TEST_F(HostDeviceTest, spans_are_of_single_operators_one_behind_the_other) {
  const std::vector<Operator> two{add_ones(), add_ones()};
  const auto program = device->prepare(two);
  lab_of(*device).record_spans(true);
  launch_one(*device, *program, {}, {});
  device->finish(seconds(10));
  const auto spans = lab_of(*device).take_spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].op, 0);
  EXPECT_EQ(spans[1].op, 1);
  EXPECT_EQ(spans[0].end_seconds, spans[1].start_seconds);
}

TEST_F(HostDeviceTest, a_device_can_be_closed_while_launches_wait) {
  const sync::Flag gate = flags.make("gate"), done = flags.make("done");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  const sync::WaitFor wait{gate, 1};
  launch_one(*device, *program, {&wait, 1}, {});
  launch_one(*device, *program, {}, {done, 1});
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.raise(1);
  });
  device.reset();
  opener.join();
  EXPECT_TRUE(done.failed());
}

TEST_F(HostDeviceTest, closing_it_ends_a_wait_for_a_flag_that_nobody_raises) {
  const sync::Flag gate = flags.make("gate"), done = flags.make("done"), later = flags.make("later");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  const sync::WaitFor wait{gate, 1};
  launch_one(*device, *program, {&wait, 1}, {done, 1});
  launch_one(*device, *program, {}, {later, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // by now it waits, asleep
  const auto begin = std::chrono::steady_clock::now();
  device.reset();
  // This checks no speed: a wait that ends at the flag's deadline takes two minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(60));
  EXPECT_NE(done.failure().find("the device was closed"), std::string::npos) << done.failure();
  EXPECT_NE(later.failure().find("the device was closed"), std::string::npos) << later.failure();
}

TEST(HostLoops, the_portable_ones_are_always_there) {
  EXPECT_NE(host::find_loops(InstructionSet::portable), nullptr);
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512}) {
    if (host::find_loops(set)) continue;
    EXPECT_THROW(make_host_device(HostArithmetic::contract, 1, {}, set), Error);
  }
}

std::vector<const host::HostLoops*> all_loops() {  // the loops that this machine can run
  std::vector<const host::HostLoops*> all;
  for (const auto set : {InstructionSet::avx512, InstructionSet::avx2, InstructionSet::portable})
    if (const host::HostLoops* loops = host::find_loops(set)) all.push_back(loops);
  return all;
}

// Rows of any length, whose largest value stands anywhere and often twice.
TEST(HostLoops, find_the_first_of_the_largest_logits) {
  std::mt19937 random(3);
  for (const host::HostLoops* loops : all_loops()) {
    for (const int64_t count : {1, 15, 16, 17, 63, 64, 65, 200, 4097}) {
      for (const uint32_t values : {1u, 4u, 100'000u}) {
        std::vector<float> x(static_cast<size_t>(count));
        for (float& each : x) each = static_cast<float>(random() % values) - 70'000;
        const host::LogitScan found = loops->scan_logits(x.data(), count);
        const auto first = std::ranges::max_element(x);
        EXPECT_EQ(found.largest, *first) << to_string(loops->set) << ", " << count;
        EXPECT_EQ(found.first, first - x.begin()) << to_string(loops->set) << ", " << count;
        EXPECT_TRUE(found.is_finite);
      }
    }
  }
}

TEST(HostLoops, see_logits_that_are_not_finite_wherever_they_are) {
  for (const host::HostLoops* loops : all_loops()) {
    for (const int64_t at : {0, 16, 63, 64, 127, 129}) {
      for (const float bad : {NAN, INFINITY, -INFINITY}) {
        std::vector<float> x(130, -2.0f);
        x[70] = 5;
        x[static_cast<size_t>(at)] = bad;
        const host::LogitScan found = loops->scan_logits(x.data(), 130);
        EXPECT_FALSE(found.is_finite) << to_string(loops->set) << ", " << bad << " at " << at;
        EXPECT_EQ(found.first, bad == INFINITY ? at : 70) << "no number is never the largest";
      }
    }
    const std::vector<float> none(20, NAN);
    EXPECT_EQ(loops->scan_logits(none.data(), 20).largest, -INFINITY);
  }
}

// Beside sums in double precision, and with the same bits by all instructions.
TEST(HostLoops, add_up_a_softmax_over_a_vocabulary) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0, 4);
  for (const int64_t count : {1, 17, 4096, 4097, 50'003}) {
    std::vector<float> x(static_cast<size_t>(count));
    for (float& each : x) each = normal(random);
    x.back() = -INFINITY;
    x.front() = 20;
    for (const float factor : {1.0f, 0.3f, 1e30f}) {
      double expected = 0;
      for (const float each : x) expected += std::exp((double{each} - 20) * factor);
      const double first = all_loops().front()->sum_of_exp(x.data(), count, 20, factor);
      EXPECT_NEAR(first, expected, 1e-6 * expected) << count << ", " << factor;
      for (const host::HostLoops* loops : all_loops())
        EXPECT_EQ(loops->sum_of_exp(x.data(), count, 20, factor), first) << to_string(loops->set);
    }
  }
}

// Attention with random queries over a cache that holds NaN beyond the last position. The values of the last position
// are infinite: the queries before it must not even multiply them by zero.
struct AttentionCase {
  sync::Pool pool;
  Attention op;
  std::mt19937 random{7};

  AttentionCase(int64_t S, int64_t past, int64_t kv_heads, int64_t group, int64_t head_dim, KvType type) {
    const int64_t heads = kv_heads * group, count = past + S;
    op.S = S, op.heads = heads, op.score.scale = 1 / std::sqrt(static_cast<float>(head_dim));
    op.q_stride = heads * head_dim + 5, op.y_stride = heads * head_dim + 3;
    op.cache = kv_cache(type, kv_heads, head_dim, head_dim, (count + 63) / 64 * 64);
    op.segments.pages = take(op.cache.pages * 4);
    for (int64_t page = 0; page < op.cache.pages; ++page)  // in falling order
      op.segments.pages.as<int32_t>()[page] = static_cast<int32_t>(op.cache.pages - 1 - page);
    op.q = take(S * op.q_stride * 4), op.y = take(S * op.y_stride * 4), op.positions = take(S * 4);
    op.cache.k = take(op.cache.k_bytes()), op.cache.v = take(op.cache.v_bytes());
    for (int64_t i = 0; i < S * op.q_stride; ++i) op.q.as<float>()[i] = 2 * number();
    for (int64_t s = 0; s < S; ++s) op.positions.as<int32_t>()[s] = static_cast<int32_t>(past + s);
    for (int64_t at = 0; at < kv_heads * count * head_dim; ++at) {
      const int64_t kv = at / (count * head_dim), p = at / head_dim % count, d = at % head_dim;
      const int64_t cell = cell_of(op.segments, op.cache, 0, p);
      put(op.cache.k, op.cache.k_index(cell, kv, d), number());
      put(op.cache.v, op.cache.v_index(cell, kv, d), p == count - 1 ? INFINITY : number());
    }
  }
  Operand take(size_t bytes) {
    sync::Slot& slot = pool.acquire(bytes, sync::SlotUse::activations, "attention");
    std::memset(slot.data(), 0xff, slot.size_bytes());  // NaN as f32 and as f16
    return {&slot, 0};
  }
  float number() { return std::normal_distribution<float>()(random); }
  void put(const Operand& cache, int64_t index, float value) {
    if (op.cache.type == KvType::f16)
      cache.as<uint16_t>()[index] = float_to_half(value);
    else
      cache.as<float>()[index] = value;
  }

  // The words of y after `run`, including the gaps between its rows.
  template <typename Run>
  std::vector<uint32_t> result(const Run& run) {
    std::memset(op.y.as<float>(), 0xff, op.S * op.y_stride * 4);
    run();
    const auto* words = op.y.as<uint32_t>();
    return {words, words + op.S * op.y_stride};
  }
  // A KV head's queries have the number token * group + head in the group. They are cut into tiles of `tile` queries.
  std::vector<uint32_t> in_tiles(const host::HostLoops& loops, int64_t tile) {
    return result([&] {
      const int64_t queries = op.S * op.heads / op.cache.kv_heads;
      for (int64_t kv = 0; kv < op.cache.kv_heads; ++kv)
        for (int64_t n = 0; n < queries; n += tile) attend(loops, kv, n, std::min(n + tile, queries));
    });
  }
  void attend(const host::HostLoops& loops, int64_t kv, int64_t begin, int64_t end) {
    const KvCache& cache = op.cache;
    const int64_t group = op.heads / cache.kv_heads;
    const size_t at = static_cast<size_t>(kv) * cache.head_bytes(cache.head_dim);
    host::AttendArgs args{static_cast<int>(end - begin),
                          {},
                          {},
                          {},
                          {},
                          cache.k.as<std::byte>() + at,
                          cache.v.as<std::byte>() + at,
                          op.segments.pages.as<int32_t>(),
                          cache.page_bytes(cache.head_dim),
                          cache.page_bytes(cache.head_dim_v),
                          cache.type == KvType::f16,
                          cache.head_dim,
                          cache.head_dim_v,
                          op.score,
                          op.round_f16,
                          {},
                          false,
                          {},
                          {}};
    for (int64_t n = begin; n < end; ++n) {
      const int64_t s = n / group, column = (kv * group + n % group) * cache.head_dim;
      args.q[n - begin] = op.q.as<float>() + s * op.q_stride + column;
      args.y[n - begin] = op.y.as<float>() + s * op.y_stride + column;
      args.last[n - begin] = op.positions.as<int32_t>()[s];
    }
    loops.attend(args);
  }
};

TEST(HostLoops, a_tile_of_queries_gives_the_bits_of_the_queries_one_by_one) {
  int compared = 0;
  for (const int64_t past : {0, 250, 256, 300})
    for (const int64_t group : {1, 3, 4})
      for (const int64_t head_dim : {40, 64, 128})
        for (const KvType type : {KvType::f16, KvType::f32}) {
          AttentionCase attention(7, past, 1, group, head_dim, type);
          attention.op.score.soft_cap = head_dim == 64 ? 2.0f : 0.0f;
          const auto expected = attention.in_tiles(*host::find_loops(InstructionSet::portable), 1);
          for (const host::HostLoops* loops : all_loops())
            for (int tile = 1; tile <= loops->attend_tile; ++tile, ++compared)
              ASSERT_EQ(attention.in_tiles(*loops, tile), expected)
                  << to_string(loops->set) << ", tiles of " << tile << " past " << past << ", group " << group
                  << ", dim " << head_dim << (type == KvType::f16 ? ", f16" : ", f32");
        }
  EXPECT_GE(compared, 4 * 3 * 3 * 2);
}

TEST(HostLoops, a_tile_may_hold_tokens_far_apart_in_any_order) {
  for (const host::HostLoops* loops : all_loops()) {
    AttentionCase attention(5, 600, 1, 2, 64, KvType::f16);
    const int32_t positions[] = {604, 3, 255, 0, 256};
    std::memcpy(attention.op.positions.as<int32_t>(), positions, sizeof positions);
    EXPECT_EQ(attention.in_tiles(*loops, loops->attend_tile), attention.in_tiles(*loops, 1)) << to_string(loops->set);
  }
}

TEST(HostLoops, attention_shared_by_threads_has_the_same_bits) {
  struct Shape {
    int64_t S, past, kv_heads, group;
  };
  // The shapes are prefill, and decoding with fewer tiles of queries than threads. Each has enough work to be shared.
  for (const Shape& shape : {Shape{65, 200, 2, 3}, Shape{1, 9000, 1, 4}, Shape{3, 6000, 1, 2}}) {
    AttentionCase attention(shape.S, shape.past, shape.kv_heads, shape.group, 64, KvType::f16);
    const auto expected = attention.in_tiles(host::best_loops(), 1);
    for (const int threads : {1, 2, 3, 7}) {
      host::Workers workers(threads, {});
      EXPECT_EQ(attention.result([&] {
        host::run_contract({"attention", attention.op}, host::best_loops(), workers);
      }),
                expected)
          << threads << " threads, S=" << shape.S;
    }
  }
}

TEST(HostLoops, a_rotation_has_the_bits_of_the_pairs_formula) {
  constexpr int64_t kHeads = 3, kHeadDim = 72;
  std::mt19937 random(3);
  std::normal_distribution<float> number;
  std::vector<float> x(kHeads * kHeadDim), turns(kHeadDim);
  for (float& value : x) value = number(random);
  for (float& value : turns) value = number(random);
  for (const host::HostLoops* loops : all_loops())
    for (const int64_t rot_dim : {2, 24, 64, 72})
      for (const bool interleaved : {false, true}) {
        std::vector<float> expected = x, rotated = x;
        for (int64_t h = 0; h < kHeads; ++h)
          for (int64_t j = 0; j < rot_dim / 2; ++j) {
            const int64_t at = h * kHeadDim + (interleaved ? 2 * j : j), other = interleaved ? 1 : rot_dim / 2;
            const float a = x[at], b = x[at + other], cosine = turns[2 * j], sine = turns[2 * j + 1];
            expected[at] = std::fma(a, cosine, -(b * sine));
            expected[at + other] = std::fma(a, sine, b * cosine);
          }
        loops->rope({rotated.data(), kHeads, kHeadDim, turns.data(), rot_dim, interleaved});
        EXPECT_EQ(std::memcmp(rotated.data(), expected.data(), x.size() * sizeof(float)), 0)
            << to_string(loops->set) << ", " << rot_dim << " of " << kHeadDim << (interleaved ? ", interleaved" : "");
      }
}

// 37 values are two vectors of every instruction set and a part of another one.
TEST(HostLoops, halves_are_rounded_to_nearest_even_at_any_count) {
  std::vector<float> values = {1.0f,           -1.0f,    0.0f, -0.0f, 65504.0f,
                               65519.0f,       65520.0f, 1e9f, 1e-8f, 5.9604645e-8f,
                               1.00048828125f,   // 1 + 2^-11: a tie, down to the even 1
                               1.00146484375f};  // 1 + 3 * 2^-11: a tie, up to the even 1 + 2^-9
  std::mt19937 random(5);
  while (values.size() < 37)
    values.push_back(std::ldexp(static_cast<float>(random()), -static_cast<int>(random() % 48)));
  EXPECT_EQ(0x3c00, float_to_half(values[10]));
  EXPECT_EQ(0x3c02, float_to_half(values[11]));
  for (const host::HostLoops* loops : all_loops()) {
    for (size_t count = 0; count <= values.size(); ++count) {
      std::vector<uint16_t> halves(values.size() + 1, 0xabcd);
      loops->to_halves(values.data(), halves.data(), static_cast<int64_t>(count));
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(float_to_half(values[i]), halves[i]) << to_string(loops->set) << " " << values[i];
      ASSERT_EQ(0xabcd, halves[count]) << to_string(loops->set) << " wrote past " << count;
    }
  }
}

TEST(Registry, an_unknown_device_is_an_error_that_lists_what_is_there) {
  for (const char* id : {"tpu:0", "host:1", "host:x", "", "opencl:999"}) {
    try {
      open_device(id, {});
      ADD_FAILURE() << "'" << id << "' was opened";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("host"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(open_device("host", {})->info().id, "host");
  EXPECT_EQ(std::ranges::count(available_devices(), "host"), 1);
}

}  // namespace
}  // namespace tandem
