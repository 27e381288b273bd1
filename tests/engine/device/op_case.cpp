#include "tests/engine/device/op_case.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "tests/engine/tensor/random_blocks.h"

namespace tandem::testing {
namespace {

constexpr uint32_t kFill = 0x7fc5c5c5;  // a quiet NaN: a kernel that reads it shows it in its result
constexpr size_t kMargin = 256;         // bytes in front of and behind every operand

}  // namespace

double exact(int64_t, int64_t, double, bool) { return 0; }

std::string size_text(const char* name, int64_t value) { return std::string(" ") + name + "=" + std::to_string(value); }

Operand CaseMemory::take(size_t bytes, sync::SlotUse use, bool aligned, const std::string& label) {
  sync::Slot& slot = pool_.acquire(bytes + 2 * kMargin, use, label);
  slots_.push_back(&slot);
  std::fill_n(slot.as<uint32_t>(), slot.size_bytes() / sizeof(uint32_t), kFill);
  return {&slot, aligned ? kMargin : kMargin - 4};
}

Operand CaseMemory::floats(const std::vector<float>& values, const std::string& label) {
  return matrix(values, static_cast<int64_t>(values.size()), static_cast<int64_t>(values.size()), label);
}

Operand CaseMemory::ids(const std::vector<int32_t>& values, const std::string& label) {
  const Operand at = take(values.size() * sizeof(int32_t), sync::SlotUse::activations, false, label);
  std::copy(values.begin(), values.end(), at.as<int32_t>());
  return at;
}

Operand CaseMemory::matrix(const std::vector<float>& values, int64_t width, int64_t stride, const std::string& label) {
  const int64_t rows = static_cast<int64_t>(values.size()) / width;
  const Operand at = empty_matrix(rows, width, stride, label);
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(values.begin() + row * width, width, at.as<float>() + row * stride);
  return at;
}

Operand CaseMemory::empty_matrix(int64_t rows, int64_t width, int64_t stride, const std::string& label) {
  return take(static_cast<size_t>((rows - 1) * stride + width) * sizeof(float), sync::SlotUse::activations, false,
              label);
}

std::vector<float> random_floats(std::mt19937& random, int64_t count, float magnitude, bool f16) {
  std::uniform_real_distribution<float> spread(-magnitude, magnitude);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = f16 ? half_to_float(float_to_half(spread(random))) : spread(random);
  return values;
}

std::function<const std::vector<double>&()> when_asked(std::function<std::vector<double>()> compute) {
  return [compute = std::move(compute),
          known = std::make_shared<std::optional<std::vector<double>>>()]() -> const std::vector<double>& {
    if (!*known) *known = compute();
    return **known;
  };
}

const std::vector<std::byte>& random_packed(StorageType type, int64_t rows, int64_t columns, uint32_t seed) {
  static std::map<std::tuple<StorageType, int64_t, int64_t, uint32_t>, std::vector<std::byte>> made;
  std::vector<std::byte>& bytes = made[{type, rows, columns, seed}];
  if (bytes.empty()) {
    bytes.resize(PackedMatrix{packed_format(type), rows, columns, {}}.bytes());
    const auto blocks = random_rows(type, rows, columns, seed, 0.02f);
    pack_rows(type, blocks.data(), columns, 0, rows, bytes.data());
  }
  return bytes;
}

PackedMatrix random_weights(CaseMemory& memory, StorageType type, int64_t rows, int64_t columns, uint32_t seed) {
  PackedMatrix matrix{packed_format(type), rows, columns, {}};
  matrix.data = memory.take(matrix.bytes(), sync::SlotUse::weights, true, "weights");
  std::ranges::copy(random_packed(type, rows, columns, seed), matrix.data.as<std::byte>());
  return matrix;
}

std::vector<OpCase> all_cases() {
  std::vector<OpCase> all;
  for (const auto& group : {matmul_cases(), act_i8_cases(), embed_cases(), norm_cases(), rope_cases(),
                            kv_append_cases(), attention_cases(), elementwise_cases(), softmax_cases(),
                            selection_cases(), routing_cases(), grouped_matmul_cases(), expert_cases()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace tandem::testing
