// Random weights of any storage type and one matmul over them, with its expected result, for tests of OpenCL devices.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "engine/device/operator.h"
#include "engine/tensor/packed.h"
#include "engine/tensor/types.h"
#include "packed/row_product.h"
#include "sync/pool.h"

namespace tandem::test {

// Rows of finite values. Block types have random bytes in which no half, at any place, has an exponent of all ones.
inline std::vector<std::byte> random_rows(StorageType type, int64_t rows, int64_t columns, std::mt19937& random) {
  std::vector<std::byte> bytes(row_bytes(type, columns) * rows);
  if (type == StorageType::f32 || type == StorageType::bf16) {
    const size_t step = type == StorageType::f32 ? 4 : 2;
    for (size_t i = 0; i < bytes.size(); i += step) {
      const float value = static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 7919.0f;
      const uint16_t high = float_to_bf16(value);
      std::memcpy(&bytes[i], step == 4 ? static_cast<const void*>(&value) : &high, step);
    }
    return bytes;
  }
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & (random() % 2 ? 0xBF : 0xFB));
  // The first byte of a block of MXFP4 is an exponent, of which models use a part.
  if (type == StorageType::mxfp4)
    for (size_t at = 0; at < bytes.size(); at += info(type).block_bytes)
      bytes[at] = static_cast<std::byte>(118 + random() % 20);
  // The half of IQ1_M lies in nibbles at the end of a block: a small one.
  if (type == StorageType::iq1_m)
    for (size_t at = 0; at < bytes.size(); at += info(type).block_bytes) bytes[at + 55] &= std::byte{0x8f};
  return bytes;
}

inline constexpr float kCanary = -12345.5f;

// y = w x in pool slots. x and y have odd strides and begin at odd float offsets. Every float of y outside the result
// is kCanary.
struct MatMulCase {
  MatMulCase(StorageType type, int64_t S, int64_t N, int64_t K, unsigned seed = 1,
             sync::SlotUse result_use = sync::SlotUse::activations) {
    std::mt19937 random(seed);
    const PackedFormat format = packed_format(type);
    const auto rows = random_rows(type, N, K, random);
    sync::Slot& w = pool.acquire(packed_bytes(format, N, K), sync::SlotUse::weights, "w");
    pack_rows(type, rows.data(), K, 0, N, w.data());
    op.S = S, op.K = K, op.row_end = N;
    op.w = {format, N, K, {&w, 0}};
    op.x_stride = K + 3, op.y_stride = N + 5;
    sync::Slot& x = pool.acquire((S * op.x_stride + 1) * 4, sync::SlotUse::activations, "x");
    y_floats = S * op.y_stride + 32;
    sync::Slot& y = pool.acquire((y_floats + 1) * 4, result_use, "y");
    op.x = {&x, 4}, op.y = {&y, 4};
    set_x(random);
    clear_y();
  }
  void set_x(std::mt19937& random) {
    for (int64_t i = 0; i < op.S * op.x_stride; ++i) {
      op.x.as<float>()[i] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 997.0f;
    }
  }
  void clear_y() { std::fill_n(op.y.as<float>(), y_floats, kCanary); }
  Operator as_operator(const char* name = "test.matmul") const { return {name, op}; }

  // Computes the contract as a plain loop. Canaries stay where nothing is written.
  std::vector<float> expected() const {
    std::vector<float> out(y_floats, kCanary), row(op.K);
    for (int64_t n = op.row_begin; n < op.row_end; ++n) {
      decode_packed_row(op.w.format, op.w.data.as<std::byte>(), op.K, n, row.data());
      for (int64_t s = 0; s < op.S; ++s)
        out[s * op.y_stride + n] = row_product(row.data(), op.x.as<float>() + s * op.x_stride, op.K);
    }
    return out;
  }
  std::vector<float> result() const { return {op.y.as<float>(), op.y.as<float>() + y_floats}; }
  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
  bool correct() const { return same_bits(expected(), result()); }

  sync::Pool pool;
  MatMul op;
  int64_t y_floats = 0;
};

}  // namespace tandem::test
