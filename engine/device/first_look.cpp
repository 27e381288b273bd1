#include "engine/device/first_look.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/tensor/packed.h"
#include "engine/tensor/types.h"
#include "sync/clock.h"
#include "sync/error.h"
#include "sync/waiter.h"

namespace tandem {
namespace {

constexpr int64_t kLookWidth = 2048;
constexpr int kLookProducts = 16;
constexpr int kMostLooks = 20;
constexpr double kLookSeconds = 0.03;
constexpr std::chrono::seconds kLookBound{30};  // the first launch may compile

// The program and the buffers of a first look. Weights and activations are zero, because times do not depend on values.
class Look {
 public:
  // A device that refuses these products cannot have a first look, and the error says why.
  Look(Device& device, sync::Pool& pool)
      : device_(device),
        pool_(pool),
        bank_(pool_, 1, "first look"),
        ended_(bank_.make("first look")),
        weights_(pool_.acquire(matrix().bytes(), sync::SlotUse::weights, "first look")),
        values_(pool_.acquire(2 * kLookWidth * sizeof(float), sync::SlotUse::activations, "first look")) {
    const std::vector<Operator> operators = products();
    for (const Operator& op : operators)
      if (const Support support = device_.supports(op); !support.yes)
        throw Error("a first look is not possible", device_.info().id, support.reason);
    program_ = device_.prepare(operators);
  }
  ~Look() {
    // The program goes first, because it refers to both slots.
    program_.reset();
    pool_.release(weights_);
    pool_.release(values_);
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  // Seconds from the launch until the host sees the flag behind the last product.
  double run() {
    const double start = now_seconds();
    launch_one(device_, *program_, {}, {ended_, ++epoch_});
    sync::WaitContext context;
    context.step = "first look";
    context.device = device_.info().id;
    context.deadline = kLookBound;
    sync::make_waiter(sync::Policy::spin)->wait(ended_, epoch_, context);
    return now_seconds() - start;
  }

 private:
  PackedMatrix matrix() const { return {packed_format(StorageType::q4_0), kLookWidth, kLookWidth, {}}; }
  // The products read one row of `values_` and write the other in turn, so each waits for the one before it.
  std::vector<Operator> products() const {
    std::vector<Operator> all;
    for (int i = 0; i < kLookProducts; ++i) {
      MatMul product;
      product.S = 1;
      product.K = product.row_end = product.x_stride = product.y_stride = kLookWidth;
      product.w = matrix();
      product.w.data = {&weights_, 0};
      product.x = {&values_, i % 2 == 0 ? 0 : kLookWidth * sizeof(float)};
      product.y = {&values_, i % 2 == 0 ? kLookWidth * sizeof(float) : 0};
      all.push_back({"first look", product});
    }
    return all;
  }

  Device& device_;
  sync::Pool& pool_;
  sync::FlagBank bank_;
  const sync::Flag ended_;
  sync::Slot &weights_, &values_;
  std::unique_ptr<Program> program_;
  uint32_t epoch_ = 0;
};

}  // namespace

// The first run is not counted. Then it repeats until kLookSeconds have passed, and at least once.
double first_look_seconds(Device& device, sync::Pool& pool) {
  Look look(device, pool);
  look.run();
  double least = std::numeric_limits<double>::infinity(), spent = 0;
  for (int run = 0; run < kMostLooks && (run == 0 || spent < kLookSeconds); ++run) {
    const double seconds = look.run();
    least = std::min(least, seconds), spent += seconds;
  }
  device.finish(std::chrono::duration_cast<std::chrono::milliseconds>(kLookBound));
  return least;
}

}  // namespace tandem
