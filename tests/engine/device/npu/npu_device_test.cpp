// The NPU as a device: its bits against a plain fma loop over decoded weights, slices, failures, deadlines, support.
#include "engine/device/npu/npu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "engine/device/host/host_device.h"
#include "engine/device/lab/lab.h"
#include "engine/tensor/types.h"
#include "packed/row_product.h"
#include "sync/error.h"
#include "sync/waiter.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr float kCanary = -12345.5f;
constexpr StorageType kTypes[] = {StorageType::f32,    StorageType::f16,    StorageType::bf16,   StorageType::q4_0,
                                  StorageType::q4_1,   StorageType::q5_0,   StorageType::q5_1,   StorageType::q8_0,
                                  StorageType::q2_k,   StorageType::q3_k,   StorageType::q4_k,   StorageType::q5_k,
                                  StorageType::q6_k,   StorageType::iq4_nl, StorageType::iq4_xs, StorageType::iq3_xxs,
                                  StorageType::iq2_xs, StorageType::tq2_0};

bool is_half_of(StorageType type, uint32_t byte_in_block) {
  switch (type) {
    case StorageType::q4_0:
    case StorageType::q5_0:
    case StorageType::q8_0:
    case StorageType::iq4_nl:
    case StorageType::iq4_xs:
    case StorageType::iq3_xxs:
    case StorageType::iq2_xs:
      return byte_in_block < 2;
    case StorageType::tq2_0:
      return byte_in_block >= 64;
    case StorageType::q4_1:
    case StorageType::q5_1:
    case StorageType::q4_k:
    case StorageType::q5_k:
      return byte_in_block < 4;
    case StorageType::q2_k:
      return byte_in_block >= 80;
    case StorageType::q3_k:
      return byte_in_block >= 108;
    case StorageType::q6_k:
      return byte_in_block >= 208;
    default:
      return true;
  }
}

// One row of valid blocks with random codes. Halves in the blocks have moderate size.
std::vector<std::byte> random_row(StorageType type, int64_t columns, std::mt19937& random) {
  std::vector<std::byte> row(row_bytes(type, columns));
  std::uniform_real_distribution<float> uniform(-1, 1);
  if (type == StorageType::f32) {
    for (size_t i = 0; i < row.size(); i += 4) {
      const float value = uniform(random);
      std::memcpy(&row[i], &value, 4);
    }
    return row;
  }
  const uint32_t block = info(type).block_bytes;
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(random());
  for (size_t i = 0; i + 1 < row.size(); i += 2) {
    if (!is_half_of(type, static_cast<uint32_t>(i % block))) continue;
    const uint16_t bits =
        type == StorageType::bf16 ? float_to_bf16(uniform(random)) : float_to_half(0.1f * uniform(random));
    std::memcpy(&row[i], &bits, 2);
  }
  return row;
}

// A weight, an input and an output in pool slots, and the definition of the result.
struct Case {
  Case(StorageType type, int64_t S, int64_t N, int64_t K, uint32_t seed = 1) {
    std::mt19937 random(seed);
    matmul.S = S;
    matmul.K = K;
    matmul.row_end = N;
    matmul.w.format = packed_format(type);
    matmul.w.rows = N;
    matmul.w.columns = K;
    matmul.x_stride = K + 3;
    matmul.y_stride = N + 5;
    matmul.w.data = {&pool.acquire(matmul.w.bytes(), sync::SlotUse::weights, "w"), 0};
    matmul.x = {&pool.acquire(static_cast<size_t>(S * matmul.x_stride) * 4, sync::SlotUse::activations, "x"), 0};
    matmul.y = {&pool.acquire(static_cast<size_t>(S * matmul.y_stride) * 4, sync::SlotUse::activations, "y"), 0};
    for (int64_t n = 0; n < N; ++n) {
      const std::vector<std::byte> row = random_row(type, K, random);
      pack_rows(type, row.data(), K, n, 1, matmul.w.data.as<std::byte>());
    }
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < S * matmul.x_stride; ++i) matmul.x.as<float>()[i] = uniform(random);
    clear();
  }
  void clear() {
    for (int64_t i = 0; i < matmul.S * matmul.y_stride; ++i) matmul.y.as<float>()[i] = kCanary;
  }
  Operator op() const { return {"blk.0.test", matmul}; }
  std::vector<float> result() const {
    return {matmul.y.as<float>(), matmul.y.as<float>() + matmul.S * matmul.y_stride};
  }
  // Products with halves of x for the rows of the slice, and canaries elsewhere.
  std::vector<float> expected() const {
    std::vector<float> y(static_cast<size_t>(matmul.S * matmul.y_stride), kCanary), w(static_cast<size_t>(matmul.K)),
        x(w.size());
    for (int64_t n = matmul.row_begin; n < matmul.row_end; ++n) {
      decode_packed_row(matmul.w.format, matmul.w.data.as<std::byte>(), matmul.K, n, w.data());
      if (!matmul.w.format.exact_in_f16_contract())
        for (float& weight : w) weight = half_to_float(float_to_half(weight));
      for (int64_t s = 0; s < matmul.S; ++s) {
        for (int64_t k = 0; k < matmul.K; ++k)
          x[static_cast<size_t>(k)] = half_to_float(float_to_half(matmul.x.as<float>()[s * matmul.x_stride + k]));
        y[static_cast<size_t>(s * matmul.y_stride + n)] = row_product(w.data(), x.data(), matmul.K);
      }
    }
    return y;
  }

  sync::Pool pool;
  MatMul matmul;
};

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& actual, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(0, std::memcmp(&expected[i], &actual[i], 4))
        << what << ": element " << i << " is " << actual[i] << ", not " << expected[i];
  }
}

void run(Device& device, const std::vector<Operator>& operators) {
  const auto program = device.prepare(operators);
  launch_one(device, *program, {}, {});
  device.finish(std::chrono::seconds(60));
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NpuDevice, computes_every_packed_format_bit_for_bit_at_odd_shapes) {
  const auto device = open_npu_device(0, {});
  for (const StorageType type : kTypes) {
    for (const int64_t S : {1, 2, 3, 4, 5, 8, 9, 17}) {
      Case test(type, S, 131, info(type).block_values <= 1 ? 97 : 512, static_cast<uint32_t>(S));
      run(*device, {test.op()});
      expect_same_bits(test.expected(), test.result(), std::string(info(type).name) + " S " + std::to_string(S));
    }
  }
}

TEST(NpuDevice, writes_only_the_rows_of_its_slice) {
  const auto device = open_npu_device(0, {});
  for (const int64_t S : {1, 11}) {
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 64}, {64, 192}, {128, 200}, {192, 200}}) {
      Case test(StorageType::q4_1, S, 200, 96);
      test.matmul.row_begin = begin;
      test.matmul.row_end = end;
      run(*device, {test.op()});
      expect_same_bits(test.expected(), test.result(), "rows from " + std::to_string(begin));
    }
  }
}

// A run of 64-column tiles ends inside a column of the deep array, and inside folds of the flat one. 9, 18 and 28
// groups of 32 columns are widths of models.
TEST(NpuDevice, has_the_hosts_bits_whatever_the_depth_of_its_array) {
  const testing::ScratchFolder folder;
  const auto host = make_host_device(HostArithmetic::contract, 1);
  std::vector<std::unique_ptr<Device>> arrays;
  for (const auto& [name, rows] : {std::pair{"flat", 24}, {"deep", 128}, {"deepest", 4096}}) {
    const std::string path = folder.file(std::string(name) + ".json");
    std::ofstream(path) << R"({"schema": 1, "array": {"cols": 128, "rows": )" << rows << "}}";
    DeviceOptions options;
    options.parameters["params"] = path;
    arrays.push_back(open_npu_device(0, options));
    EXPECT_THAT(arrays.back()->info().name, HasSubstr(std::to_string(rows) + "x128"));
  }
  for (const StorageType type : {StorageType::f16, StorageType::q4_1, StorageType::q8_0})
    for (const int64_t groups : {9, 18, 28, 65})
      for (const int64_t S : {1, 4, 13}) {
        Case test(type, S, 131, groups * 32 + (type == StorageType::f16 ? 1 : 0));
        // Halves, so that the host multiplies what the NPU rounds to.
        for (int64_t i = 0; i < S * test.matmul.x_stride; ++i) {
          float& value = test.matmul.x.as<float>()[i];
          value = half_to_float(float_to_half(value));
        }
        const std::vector<float> expected = test.expected();
        const std::string what =
            std::string(info(type).name) + " S " + std::to_string(S) + " groups " + std::to_string(groups);
        run(*host, {test.op()});
        expect_same_bits(expected, test.result(), "host, " + what);
        for (const auto& device : arrays) {
          test.clear();
          run(*device, {test.op()});
          expect_same_bits(expected, test.result(), device->info().name + ", " + what);
        }
      }
}

TEST(NpuDevice, gives_the_same_bits_for_a_slice_of_the_tokens) {
  const auto device = open_npu_device(0, {});
  Case test(StorageType::q4_0, 13, 64, 128);
  const std::vector<float> expected = test.expected();
  MatMul head = test.matmul, tail = test.matmul;
  head.S = 9;
  tail.S = 4;
  tail.x = tail.x.advanced(static_cast<size_t>(9 * tail.x_stride) * 4);
  tail.y = tail.y.advanced(static_cast<size_t>(9 * tail.y_stride) * 4);
  run(*device, {{"head", head}, {"tail", tail}});
  expect_same_bits(expected, test.result(), "9 + 4 tokens");
}

// Queries, keys and values read one input, and their weights may have different storage types. How the input is laid
// out depends on the type and on the number of tokens.
TEST(NpuDevice, multiplies_one_input_with_weights_of_several_types) {
  const auto device = open_npu_device(0, {});
  for (const int64_t S : {1, 4, 7, 8, 12, 16, 17}) {
    Case dense(StorageType::f16, S, 70, 128), codes(StorageType::q4_0, S, 70, 128),
        more(StorageType::f16, S, 70, 128, 3);
    codes.matmul.x = more.matmul.x = dense.matmul.x;
    codes.matmul.x_stride = more.matmul.x_stride = dense.matmul.x_stride;
    run(*device, {dense.op(), codes.op(), more.op()});
    for (Case* each : {&dense, &codes, &more})
      expect_same_bits(each->expected(), each->result(),
                       "S " + std::to_string(S) + ", " + to_string(each->matmul.w.format));
  }
}

TEST(NpuDevice, gives_the_same_bits_on_any_number_of_cores) {
  DeviceOptions options;
  options.npu_cores = {0, 0, 0};  // three threads, whatever the number of cores
  const auto device = open_npu_device(0, options);
  EXPECT_EQ(3, device->info().compute_units);
  for (const int64_t S : {1, 20}) {
    Case test(StorageType::q8_0, S, 330, 64);
    for (int repeat = 0; repeat < 5; ++repeat) {
      test.clear();
      run(*device, {test.op()});
      expect_same_bits(test.expected(), test.result(), "three threads");
    }
  }
}

TEST(NpuDevice, reads_activations_again_when_a_step_of_the_program_wrote_them) {
  const auto device = open_npu_device(0, {});
  Case test(StorageType::f16, 6, 64, 64);
  test.matmul.x_stride = test.matmul.y_stride = 64;
  // The program runs y = W x, then x = W x over the old input, then y = W x with the new x.
  MatMul forward = test.matmul, back = test.matmul;
  sync::Slot& spare = test.pool.acquire(6 * 64 * 4, sync::SlotUse::activations, "spare");
  back.x = forward.y;
  back.y = forward.x;
  MatMul again = forward;
  again.y = {&spare, 0};
  const auto program = device->prepare(std::vector<Operator>{{"a", forward}, {"b", back}, {"c", again}});
  launch_one(*device, *program, {}, {});
  device->finish(std::chrono::seconds(10));
  Case check(StorageType::f16, 6, 64, 64);
  check.matmul.x_stride = check.matmul.y_stride = 64;
  std::memcpy(check.matmul.x.as<float>(), test.matmul.x.as<float>(), 6 * 64 * 4);
  const std::vector<float> expected = check.expected();
  expect_same_bits({expected.begin(), expected.begin() + 6 * 64}, {spare.as<float>(), spare.as<float>() + 6 * 64},
                   "third step");
}

// The program runs x = W x twice. The second step has the same input place as the first step, but other values.
TEST(NpuDevice, reads_activations_again_when_the_step_before_wrote_them_in_place) {
  const auto device = open_npu_device(0, {});
  for (const int64_t S : {1, 6}) {
    Case test(StorageType::f16, S, 64, 64), check(StorageType::f16, S, 64, 64);
    for (Case* each : {&test, &check}) each->matmul.x_stride = each->matmul.y_stride = 64;
    const auto bytes = static_cast<size_t>(S * 64) * sizeof(float);
    std::memcpy(check.matmul.x.as<float>(), test.matmul.x.as<float>(), bytes);
    for (int step = 0; step < 2; ++step)
      std::memcpy(check.matmul.x.as<float>(), std::vector<float>(check.expected()).data(), bytes);
    MatMul in_place = test.matmul;
    in_place.y = in_place.x;
    const auto program = device->prepare(std::vector<Operator>{{"a", in_place}, {"b", in_place}});
    launch_one(*device, *program, {}, {});
    device->finish(std::chrono::seconds(10));
    const float *got = test.matmul.x.as<float>(), *expected = check.matmul.x.as<float>();
    expect_same_bits({expected, expected + S * 64}, {got, got + S * 64}, std::to_string(S) + " tokens");
  }
}

TEST(NpuDevice, takes_rounded_activations_as_they_are) {
  const auto device = open_npu_device(0, {});
  for (const int64_t S : {2, 7}) {
    Case test(StorageType::q4_1, S, 64, 64);
    run(*device, {test.op()});
    const std::vector<float> once = test.result();
    for (int64_t i = 0; i < S * test.matmul.x_stride; ++i) {
      float& value = test.matmul.x.as<float>()[i];
      value = half_to_float(float_to_half(value));
    }
    run(*device, {test.op()});
    expect_same_bits(once, test.result(), "rounded before");
  }
}

TEST(NpuDevice, starts_after_the_flag_it_waits_for_and_raises_its_own) {
  for (const sync::Policy policy : {sync::Policy::blocking, sync::Policy::spin, sync::Policy::predict}) {
    DeviceOptions options;
    options.sync_policy = policy;
    const auto device = open_npu_device(0, options);
    sync::Pool pool;
    sync::FlagBank bank(pool, 4, "test");
    const sync::Flag ready = bank.make("ready"), done = bank.make("done");
    Case test(StorageType::q4_0, 2, 64, 64);
    const std::vector<float> expected = test.expected();
    const float kept = test.matmul.x.as<float>()[0];
    test.matmul.x.as<float>()[0] = 1000;
    const auto program = device->prepare(std::vector<Operator>{test.op()});
    lab_of(*device).record_spans(true);
    launch_one(*device, *program, std::vector<sync::WaitFor>{{ready, 7}}, {done, 3});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(done.reached(3)) << name_of(policy);
    test.matmul.x.as<float>()[0] = kept;
    ready.raise(7);
    sync::WaitContext context;
    context.step = "test";
    context.device = "npu:0";
    sync::make_waiter(sync::Policy::blocking)->wait(done, 3, context);
    expect_same_bits(expected, test.result(), name_of(policy));
    device->finish(std::chrono::seconds(10));
    const std::vector<DeviceSpan> spans = lab_of(*device).take_spans();
    ASSERT_EQ(1u, spans.size());
    EXPECT_EQ(program.get(), spans[0].program);
    EXPECT_GE(spans[0].end_seconds, spans[0].start_seconds);
    EXPECT_TRUE(lab_of(*device).take_spans().empty());
  }
}

TEST(NpuDevice, measures_each_product_of_a_program_one_behind_the_other) {
  const auto device = open_npu_device(0, {});
  Case first(StorageType::f16, 5, 64, 64), second(StorageType::q4_0, 3, 128, 64);
  const auto program = device->prepare(std::vector<Operator>{first.op(), second.op()});
  lab_of(*device).record_spans(true);
  launch_one(*device, *program, {}, {});
  device->finish(std::chrono::seconds(10));
  const std::vector<DeviceSpan> spans = lab_of(*device).take_spans();
  ASSERT_EQ(2u, spans.size());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(program.get(), spans[i].program);
    EXPECT_EQ(i, spans[i].op);
    EXPECT_LT(spans[i].start_seconds, spans[i].end_seconds);
  }
  EXPECT_EQ(spans[0].end_seconds, spans[1].start_seconds);
}

TEST(NpuDevice, runs_launches_in_order_and_takes_its_own_earlier_flags) {
  const auto device = open_npu_device(0, {});
  sync::Pool pool;
  sync::FlagBank bank(pool, 2, "test");
  const sync::Flag step = bank.make("step");
  Case first(StorageType::f16, 5, 64, 64);
  Case second(StorageType::f16, 5, 64, 64, 2);
  second.matmul.x = first.matmul.y;
  second.matmul.x_stride = first.matmul.y_stride;
  const auto a = device->prepare(std::vector<Operator>{first.op()}),
             b = device->prepare(std::vector<Operator>{second.op()});
  for (uint32_t epoch = 1; epoch <= 20; ++epoch) {
    launch_one(*device, *a, {}, {step, 2 * epoch});
    launch_one(*device, *b, std::vector<sync::WaitFor>{{step, 2 * epoch}}, {step, 2 * epoch + 1});
  }
  device->finish(std::chrono::seconds(10));
  EXPECT_EQ(41u, step.epoch());
  expect_same_bits(second.expected(), second.result(), "chained");
}

TEST(NpuDevice, counts_the_epochs_of_a_sequence_from_the_base_of_each_launch) {
  const auto device = open_npu_device(0, {});
  sync::Pool pool;
  sync::FlagBank bank(pool, 2, "test");
  const sync::Flag go = bank.make("go"), done = bank.make("done");
  Case test(StorageType::f16, 5, 64, 64);
  const auto program = device->prepare(std::vector<Operator>{test.op()});
  std::vector<PlannedLaunch> launches(2);
  launches[0] = {program.get(), {{go, 0}}, {done, 0}};
  launches[1] = {program.get(), {{done, 0}}, {done, 3}};
  const auto sequence = make_sequence(*device, std::move(launches));
  for (const uint32_t base : {5u, 20u}) {
    device->launch(sequence, base);
    go.raise(base);
    device->finish(std::chrono::seconds(10));
    EXPECT_EQ(done.epoch(), base + 3);
    EXPECT_FALSE(done.failed()) << done.failure();
  }
}

TEST(NpuDevice, passes_a_failure_on_to_its_flags_and_to_finish_and_recovers) {
  const auto device = open_npu_device(0, {});
  sync::Pool pool;
  sync::FlagBank bank(pool, 8, "test");
  const sync::Flag ready = bank.make("ready"), first = bank.make("first"), second = bank.make("second"),
                   third = bank.make("third");
  Case test(StorageType::f16, 1, 64, 32);
  const auto program = device->prepare(std::vector<Operator>{test.op()});
  ready.fail("the producer broke");
  launch_one(*device, *program, std::vector<sync::WaitFor>{{ready, 1}}, {first, 1});
  launch_one(*device, *program, {}, {second, 1});
  const std::string message = error_of([&] { device->finish(std::chrono::seconds(10)); });
  EXPECT_THAT(message, HasSubstr("the producer broke"));
  EXPECT_THAT(message, HasSubstr("blk.0.test"));
  EXPECT_THAT(message, HasSubstr("npu:0"));
  EXPECT_THAT(first.failure(), HasSubstr("the producer broke"));
  EXPECT_THAT(second.failure(), HasSubstr("the producer broke"));
  expect_same_bits(std::vector<float>(test.result().size(), kCanary), test.result(), "skipped");

  launch_one(*device, *program, {}, {third, 1});
  device->finish(std::chrono::seconds(10));
  EXPECT_TRUE(third.reached(1));
  expect_same_bits(test.expected(), test.result(), "after the failure");
}

TEST(NpuDevice, says_so_when_it_does_not_finish_in_time) {
  const auto device = open_npu_device(0, {});
  sync::Pool pool;
  sync::FlagBank bank(pool, 2, "test");
  const sync::Flag ready = bank.make("ready");
  Case test(StorageType::f16, 1, 64, 32);
  const auto program = device->prepare(std::vector<Operator>{test.op()});
  launch_one(*device, *program, std::vector<sync::WaitFor>{{ready, 1}}, {});
  EXPECT_THAT(error_of([&] { device->finish(std::chrono::milliseconds(20)); }),
              HasSubstr("did not finish within 20 ms"));
  ready.raise(1);
  device->finish(std::chrono::seconds(10));
  expect_same_bits(test.expected(), test.result(), "late");
}

TEST(NpuDevice, refuses_every_operator_but_matmul_with_a_reason) {
  const auto device = open_npu_device(0, {});
  const std::pair<OperatorBody, const char*> refused[] = {{Embed(), "gather"},
                                                          {RmsNorm(), "norm"},
                                                          {Rope(), "rotation"},
                                                          {KvAppend(), "scatter"},
                                                          {Attention(), "dynamic shape"},
                                                          {Glu(), "activation"},
                                                          {Add(), "element-wise"},
                                                          {Bias(), "element-wise"},
                                                          {Scale(), "element-wise"},
                                                          {Softmax(), "softmax"},
                                                          {ArgMax(), "comparison"},
                                                          {TopK(), "top-k"},
                                                          {Route(), "routing"},
                                                          {ExpertLists(), "routing"},
                                                          {ExpertFetch(), "experts that move"},
                                                          {ExpertDecide(), "experts that move"},
                                                          {ExpertMove(), "copies of experts"},
                                                          {ExpertPrefetch(), "copies of experts"},
                                                          {ExpertSides(), "capacities"},
                                                          {ExpertSlots(), "capacities"},
                                                          {GatherRows(), "capacities"},
                                                          {GroupedMatMul(), "grouped"},
                                                          {ExpertSum(), "weighted sum"},
                                                          {Copy(), "copies"}};
  static_assert(std::size(refused) + 1 == std::variant_size_v<OperatorBody>);
  for (const auto& [body, reason] : refused) {
    const Operator op{"blk.1.thing", body};
    EXPECT_FALSE(device->supports(op).yes);
    EXPECT_THAT(device->supports(op).reason, HasSubstr(reason));
    const std::string message = error_of([&] { device->prepare(std::vector<Operator>{op}); });
    EXPECT_THAT(message, HasSubstr("blk.1.thing"));
    EXPECT_THAT(message, HasSubstr(reason));
  }
}

TEST(NpuDevice, refuses_matmuls_that_do_not_fit_with_a_reason) {
  const auto device = open_npu_device(0, {});
  const Case good(StorageType::q4_0, 2, 200, 64);
  EXPECT_TRUE(device->supports(good.op()).yes) << device->supports(good.op()).reason;
  const auto reason_after = [&](const std::function<void(MatMul&)>& change) {
    MatMul changed = good.matmul;
    change(changed);
    const Support support = device->supports({"m", changed});
    return support.yes ? std::string() : support.reason;
  };
  EXPECT_THAT(reason_after([](MatMul& m) { m.S = 0; }), HasSubstr("dynamic shape"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.row_begin = 32; }), HasSubstr("multiple of 64"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.row_end = 100; }), HasSubstr("multiple of 64"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.row_end = 256; }), HasSubstr("outside"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.K = m.w.columns = 40; }), HasSubstr("multiple of 32"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.K = 32; }), HasSubstr("not K"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.x_stride = 63; }), HasSubstr("stride"));
  EXPECT_THAT(reason_after([](MatMul& m) { m.S = int64_t{1} << 21; }), HasSubstr("limit"));
}

TEST(NpuDevice, plans_but_does_not_prepare_a_shape_without_memory) {
  const auto device = open_npu_device(0, {});
  MatMul shape;
  shape.S = 256;
  shape.K = shape.w.columns = 4096;
  shape.row_end = shape.w.rows = 4096;
  shape.w.format = packed_format(StorageType::f16);
  shape.x_stride = shape.y_stride = 4096;
  const Operator op{"big", shape};
  EXPECT_TRUE(device->supports(op).yes);
  // 64 x 64 folds take (64 load + 256 stream + 63 skew + 63 drain) cycles, less one in all, at 1 GHz, plus 10 us to
  // launch. The memory needs (4096*4096*2 + 256*8192*4) / 42e9 = 1.0 ms, less than the array's 1.83 ms.
  const Cost cost = device->estimate(std::vector<Operator>{op});
  EXPECT_DOUBLE_EQ((4096.0 * 446 - 1) / 1e9 + 10e-6, cost.seconds);
  EXPECT_DOUBLE_EQ(2.0 * 256 * 4096 * 4096, cost.flops);
  EXPECT_DOUBLE_EQ(4096.0 * 4096 * 2 + 256.0 * 8192 * 4, cost.bytes);
  EXPECT_GT(cost.joules, 0);
  EXPECT_THAT(error_of([&] { device->prepare(std::vector<Operator>{op}); }), HasSubstr("shape-only"));
}

TEST(NpuDevice, reports_modelled_compile_time_that_grows_with_the_tensors) {
  const auto device = open_npu_device(0, {});
  const Case small(StorageType::f16, 1, 64, 64), large(StorageType::f16, 1, 640, 640);
  const double few = device->prepare(std::vector<Operator>{small.op()})->compile_seconds();
  const double many = device->prepare(std::vector<Operator>{large.op()})->compile_seconds();
  // Compiling takes 1 ns a byte. Weights have 640*640*2 against 64*64*2 bytes, activations 4*1280 against 4*128.
  EXPECT_NEAR(1e-9 * ((640.0 * 640 - 64 * 64) * 2 + 4 * (1280 - 128)), many - few, 1e-12);
}

TEST(NpuDevice, tells_what_it_is_and_has_proven) {
  const auto device = open_npu_device(0, {});
  const DeviceInfo& info = device->info();
  EXPECT_EQ("npu:0", info.id);
  EXPECT_EQ(DeviceKind::npu, info.kind);
  EXPECT_TRUE(info.zero_copy);
  EXPECT_TRUE(info.rounds_to_f16);
  EXPECT_TRUE(info.fused_fma);
  EXPECT_EQ(sync::waiter_names().size(), info.policies.size());
  for (const PolicyTest& policy : info.policies)
    EXPECT_TRUE(policy.passed) << name_of(policy.policy) << ": " << policy.reason;
}

TEST(NpuDevice, refuses_bad_options_when_it_is_opened) {
  EXPECT_THAT(error_of([] { open_npu_device(1, {}); }), HasSubstr("npu:1"));
  DeviceOptions options;
  options.parameters = {{"params", "/nonexistent/npu.json"}};
  EXPECT_THAT(error_of([&] { open_npu_device(0, options); }), HasSubstr("/nonexistent/npu.json"));
  options = {};
  options.npu_cores = {4095};
  EXPECT_THAT(error_of([&] { open_npu_device(0, options); }), HasSubstr("core"));
}

TEST(NpuDevice, refuses_a_program_of_another_device) {
  const auto device = open_npu_device(0, {}), other = open_npu_device(0, {});
  const Case test(StorageType::f16, 1, 64, 32);
  const auto program = device->prepare(std::vector<Operator>{test.op()});
  EXPECT_THAT(error_of([&] { launch_one(*other, *program, {}, {}); }), HasSubstr("did not prepare"));
  EXPECT_THAT(error_of([&] { make_sequence(*other, {{program.get(), {}, {}}}); }), HasSubstr("did not prepare"));
}

}  // namespace
}  // namespace tandem
