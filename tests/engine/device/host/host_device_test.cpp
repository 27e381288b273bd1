#include "engine/device/host/host_device.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/device/host/loops.h"
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

  // x[0..3] += y[0..3], y being ones.
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
  for (uint32_t i = 1; i <= 5; ++i) device->launch(*program, {}, {flag, i});
  sync::make_waiter("blocking")->wait(flag, 5, {.step = "add", .device = "host", .block = {}});
  EXPECT_EQ(slot.as<float>()[3], 5.0f);
}

TEST_F(HostDeviceTest, a_launch_returns_at_once_and_starts_when_its_flag_is_raised) {
  const sync::Flag gate = flags.make("gate"), done = flags.make("done");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  const sync::WaitFor wait{gate, 1};
  device->launch(*program, {&wait, 1}, {done, 1});
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
  device->launch(*bad_program, {&never, 1}, {flag, 1});
  device->launch(*good_program, {}, {later, 1});
  never.flag.raise(1);
  EXPECT_THROW(device->finish(seconds(10)), Error);
  EXPECT_TRUE(flag.failed());
  EXPECT_NE(flag.failure().find("id 7"), std::string::npos) << flag.failure();
  EXPECT_TRUE(later.failed()) << "what comes after a failure is skipped";
  EXPECT_EQ(slot.as<float>()[0], 0.0f);
  EXPECT_NO_THROW(device->finish(seconds(10)));
  const sync::Flag again = flags.make("again");
  device->launch(*good_program, {}, {again, 1});
  device->finish(seconds(10));
  EXPECT_TRUE(again.reached(1)) << "the device works on after finish() reported the failure";
}

TEST_F(HostDeviceTest, a_failed_gate_fails_the_step_that_waits_for_it) {
  const sync::Flag gate = flags.make("gate"), done = flags.make("done");
  const Operator op = add_ones();
  const auto program = device->prepare({&op, 1});
  const sync::WaitFor wait{gate, 1};
  device->launch(*program, {&wait, 1}, {done, 1});
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
  device->launch(*program, {}, {});
  EXPECT_THROW(device->finish(seconds(10)), Error);
  *slot.as<int32_t>(128) = 2;
  device->launch(*program, {}, {});
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
  device->launch(*program, {}, {});
  device->finish(seconds(10));
  EXPECT_TRUE(device->take_spans().empty());
  device->record_spans(true);
  device->launch(*program, {}, {});
  device->finish(seconds(10));
  const auto spans = device->take_spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].program, program.get());
  EXPECT_LE(spans[0].start_seconds, spans[0].end_seconds);
}

TEST_F(HostDeviceTest, spans_are_of_single_operators_one_behind_the_other) {
  const std::vector<Operator> two{add_ones(), add_ones()};
  const auto program = device->prepare(two);
  device->record_spans(true);
  device->launch(*program, {}, {});
  device->finish(seconds(10));
  const auto spans = device->take_spans();
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
  device->launch(*program, {&wait, 1}, {});
  device->launch(*program, {}, {done, 1});
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.raise(1);
  });
  device.reset();
  opener.join();
  EXPECT_TRUE(done.failed());
}

TEST(HostLoops, the_portable_ones_are_always_there) {
  EXPECT_NE(host::find_loops("portable"), nullptr);
  EXPECT_EQ(host::find_loops("sse9"), nullptr);
  EXPECT_THROW(make_host_device(HostArithmetic::contract, 1, {}, "sse9"), Error);
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
  EXPECT_EQ(available_devices().back(), "host");
}

}  // namespace
}  // namespace tandem
