#include <gtest/gtest.h>

#include "engine/device/opencl/opencl_device.h"
#include "tests/engine/device/opencl/runtime/weights.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

class EmbedBits : public testing::TestWithParam<KernelFamily> {};

INSTANTIATE_TEST_SUITE_P(families, EmbedBits, testing::Values(KernelFamily::simd, KernelFamily::simt));

TEST_P(EmbedBits, rows_are_decoded_exactly_for_every_storage_type) {
  if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  DeviceOptions options;
  options.gpu_family = GetParam();
  const auto device = open_opencl_device(0, options);
  std::mt19937 random(4);
  for (const StorageTypeInfo& type : storage_types()) {
    const PackedFormat format = packed_format(type.type);
    const int64_t vocabulary = 70, H = format.dense() ? 77 : type.block_values > 32 ? 512 : 96, S = 5;
    sync::Pool pool;
    sync::Slot& w = pool.acquire(packed_bytes(format, vocabulary, H), sync::SlotUse::weights, "w");
    const auto rows = test::random_rows(type.type, vocabulary, H, random);
    pack_rows(type.type, rows.data(), H, 0, vocabulary, w.data());
    sync::Slot& ids = pool.acquire(S * 4, sync::SlotUse::activations, "ids");
    sync::Slot& y = pool.acquire((S * H + 1) * 4, sync::SlotUse::activations, "y");
    const int32_t wanted[] = {0, 69, 63, 64, 7};
    std::memcpy(ids.data(), wanted, sizeof wanted);
    y.as<float>()[S * H] = test::kCanary;
    const Operator op{"embed", Embed{S, H, {format, vocabulary, H, {&w, 0}}, {&ids, 0}, {&y, 0}}};
    const auto program = device->prepare(std::span(&op, 1));
    launch_one(*device, *program, {}, {});
    device->finish(std::chrono::seconds(60));
    std::vector<float> row(H);
    for (int64_t s = 0; s < S; ++s) {
      decode_packed_row(format, w.data(), H, wanted[s], row.data());
      EXPECT_EQ(std::memcmp(row.data(), y.as<float>() + s * H, H * 4), 0) << type.name << " token " << s;
    }
    EXPECT_EQ(y.as<float>()[S * H], test::kCanary) << type.name;
  }
}

TEST(Embed, an_id_outside_the_vocabulary_shows_as_nan_and_reads_nothing) {
  if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const auto device = open_opencl_device(0, {});
  sync::Pool pool;
  const PackedFormat format = packed_format(StorageType::f32);
  sync::Slot& w = pool.acquire(packed_bytes(format, 3, 8), sync::SlotUse::weights, "w");
  sync::Slot& ids = pool.acquire(8, sync::SlotUse::activations, "ids");
  sync::Slot& y = pool.acquire(2 * 8 * 4, sync::SlotUse::activations, "y");
  ids.as<int32_t>()[0] = -1;
  ids.as<int32_t>()[1] = 2'000'000'000;
  const Operator op{"embed", Embed{2, 8, {format, 3, 8, {&w, 0}}, {&ids, 0}, {&y, 0}}};
  const auto program = device->prepare(std::span(&op, 1));
  launch_one(*device, *program, {}, {});
  device->finish(std::chrono::seconds(60));
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(y.as<float>()[i])) << i;
}

}  // namespace
}  // namespace tandem
