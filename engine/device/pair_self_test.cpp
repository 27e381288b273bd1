#include "engine/device/pair_self_test.h"

#include "engine/tensor/packed.h"
#include "engine/tensor/types.h"
#include "sync/error.h"
#include "sync/long_wait.h"
#include "sync/waiter.h"

namespace tandem {
namespace {

constexpr int64_t kWidth = 64;
constexpr int kHandOvers = 8;  // in each direction, in one queue

// The hand-overs in one direction. Each device runs the first of these that it supports: y += x; y = W x with the
// identity as W; a copy of x as if it were an expert.
class PairTrial {
 public:
  // Both devices see the same slots: values with three rows, an identity matrix, and a table for a link.
  PairTrial(Device& from, Device& to, sync::Pool& pool, std::chrono::milliseconds bound)
      : from_(from),
        to_(to),
        bound_(bound),
        pool_(pool),
        bank_(pool, 2, "pair self-test"),
        values_(pool.acquire(3 * kWidth * sizeof(float), sync::SlotUse::activations, "pair self-test")),
        identity_(pool.acquire(kWidth * kWidth * sizeof(uint16_t), sync::SlotUse::weights, "pair self-test")),
        table_(pool.acquire(move_table_words(1) * sizeof(int32_t), sync::SlotUse::activations, "pair self-test")) {
    table_.as<int32_t>()[0] = 1;               // one copy, from 0 to 0: the slot is zeros
    auto* element = identity_.as<uint16_t>();  // packed f16: element (r, k) at k * 64 + r
    for (int64_t i = 0; i < kWidth; ++i) element[i * kWidth + i] = float_to_half(1.0f);
  }
  ~PairTrial() {
    pool_.release(values_);
    pool_.release(identity_);
    pool_.release(table_);
  }

  // `from` writes row 0 to row 1, and `to` writes row 1 to row 2. The next round begins on `from` only when `to` has
  // ended the last one.
  void run() {
    const auto first = prepare(from_, 0, 1), second = prepare(to_, 1, 2);
    const sync::Flag sent = bank_.make("pair self-test sent"), taken = bank_.make("pair self-test taken");
    for (int64_t i = 0; i < kWidth; ++i) values_.as<float>()[i] = static_cast<float>(i + 1);
    for (uint32_t round = 1; round <= kHandOvers; ++round) {
      // A new flag has the epoch 0, so the first round waits for nothing.
      const sync::WaitFor before[] = {{taken, round - 1}}, after[] = {{sent, round}};
      launch_one(from_, *first, before, {sent, round});
      launch_one(to_, *second, after, {taken, round});
    }
    sync::WaitContext context;
    context.step = "pair self-test";
    const std::string id = to_.info().id;
    context.device = id;
    context.deadline = bound_;
    std::string failure;
    try {
      sync::make_waiter(sync::Policy::spin)->wait(taken, kHandOvers, context);
    } catch (const Error& error) {
      failure = error.what();
      sent.fail(failure);  // ends the waits of queued programs
      taken.fail(failure);
    }
    // Both queues must be empty before the memory is released. The first failure counts.
    for (Device* device : {&from_, &to_}) {
      try {
        device->finish(bound_);
      } catch (const Error& error) {
        if (failure.empty()) failure = error.what();
      }
    }
    if (!failure.empty()) throw Error("a hand-over failed", from_.info().id + " to " + id, failure);
    check_values();
  }

 private:
  // An addition if the device supports it, otherwise a product or a copy, whose results are equal.
  std::unique_ptr<Program> prepare(Device& device, int64_t from_row, int64_t to_row) {
    const sync::Slot* values = &values_;
    const auto row = [&](int64_t r) { return Operand{values, static_cast<size_t>(r * kWidth) * sizeof(float)}; };
    Operator op{"pair self-test", Add{1, kWidth, row(to_row), row(from_row), kWidth, kWidth}};
    if (!device.supports(op).yes) {
      MatMul copy;
      copy.S = 1;
      copy.K = copy.row_end = copy.x_stride = copy.y_stride = kWidth;
      copy.w = {packed_format(StorageType::f16), kWidth, kWidth, {&identity_, 0}};
      copy.x = row(from_row);
      copy.y = row(to_row);
      op.body = copy;
    }
    if (!device.supports(op).yes) {
      ExpertMove move;
      move.S = move.most = move.from_count = move.to_count = 1;
      move.expert_bytes = kWidth * sizeof(float);
      move.table = {&table_, 0};
      move.from = row(from_row);
      move.to = row(to_row);
      op.body = move;
    }
    // The expected values depend on the operator (check_values()).
    adds_[to_row] = std::holds_alternative<Add>(op.body);
    return device.prepare(std::span(&op, 1));
  }

  // The expected values after kHandOvers rounds: an addition accumulates on the value that the round before it wrote.
  void check_values() const {
    int64_t first = 0, second = 0;  // multiples of the value in row 0
    for (int round = 0; round < kHandOvers; ++round) {
      first = adds_[1] ? first + 1 : 1;
      second = adds_[2] ? second + first : first;
    }
    for (int64_t i = 0; i < kWidth; ++i) {
      const float wanted = static_cast<float>((i + 1) * second), seen = values_.as<float>()[2 * kWidth + i];
      if (seen != wanted) {
        throw Error("a device saw old data behind a new flag", from_.info().id + " to " + to_.info().id,
                    "wanted " + std::to_string(wanted) + ", got " + std::to_string(seen));
      }
    }
  }

  Device &from_, &to_;
  std::chrono::milliseconds bound_;
  sync::Pool& pool_;
  sync::FlagBank bank_;
  sync::Slot &values_, &identity_, &table_;
  bool adds_[3] = {};  // by the row that is written: whether the operator adds
};

// Turns every failure into a verdict with its reason, except a stop by the user.
PairTest test_direction(Device& from, Device& to, sync::Pool& pool, std::chrono::milliseconds bound) {
  PairTest test{from.info().id, to.info().id, false, ""};
  try {
    PairTrial(from, to, pool, bound).run();
    test.passed = true;
    test.reason = std::to_string(kHandOvers) + " values behind flags arrived";
  } catch (const std::exception& error) {
    if (stop_is_asked()) throw Interrupted();  // the stop ranks before any error that the device made of it
    test.reason = error.what();
  }
  return test;
}

}  // namespace

std::vector<PairTest> test_pair(Device& a, Device& b, sync::Pool& pool, std::chrono::milliseconds bound) {
  return {test_direction(a, b, pool, bound), test_direction(b, a, pool, bound)};
}

}  // namespace tandem
