#include "tests/engine/device/run_case.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "engine/device/host/host_device.h"
#include "engine/device/host/loops.h"
#include "engine/device/vulkan/vulkan_tuning.h"
#include "sync/error.h"
#include "tests/engine/device/every_device.h"
#include "tests/support/kernel_families.h"
#include "tests/support/program_folder.h"

namespace tandem::testing {
namespace {

std::string place(const Output& output, int64_t row, int64_t column) {
  return output.name + "[" + std::to_string(row) + ", " + std::to_string(column) + "]";
}

}  // namespace

Bench::~Bench() {
  device.reset();
  report_messages();
}

void Bench::report_messages() {
  for (const std::string& message : messages.take()) ADD_FAILURE() << "validation layers: " << message;
}

void Bench::run(std::span<const Operator> operators) {
  const auto program = device->prepare(operators);
  launch_one(*device, *program, {}, {done, ++epoch});
  device->finish(std::chrono::minutes(10));
  if (!done.reached(epoch)) throw Error("the device finished without raising its signal", device->info().id);
}

std::vector<Target> targets() {
  std::vector<Target> all = {{"host", "host"},
                             {"host_avx2", "host"},
                             {"host_portable", "host"},
                             {"opencl_simd", "opencl:0", "simd"},
                             {"opencl_copies", "opencl:0", "simd", true},
                             {"opencl_simt", "opencl:0", "simt"},
                             {"opencl_card", "opencl:0", "simt", true},
                             {"vulkan_simd", "vulkan:0", "simd"},
                             {"vulkan_copies", "vulkan:0", "simd", true},
                             {"vulkan_simt", "vulkan:0", "simt"},
                             {"vulkan_card", "vulkan:0", "simt", true}};
  for (const DeviceFactory& factory : device_factories()) {
    const std::string id = test::first_id(factory);
    if (std::ranges::none_of(all, [&](const Target& known) { return known.id == id; }))
      all.push_back({factory.prefix, id});
  }
  return all;
}

namespace {

// The instruction set that a host target names.
std::optional<InstructionSet> named_set(const Target& target) {
  const std::string_view name = target.name;
  if (name == "host_portable") return InstructionSet::portable;
  if (name == "host_avx2") return InstructionSet::avx2;
  return {};
}

}  // namespace

std::string missing(const Target& target) {
  const auto set = named_set(target);
  if (set && !host::find_loops(*set)) return std::string("this machine cannot run the loops ") + to_string(*set);
  for (const std::string& id : available_devices())
    if (id == target.id) return "";
  return std::string("there is no device ") + target.id;
}

std::unique_ptr<Device> open_target(const Target& target, vulkan::Messages& messages) {
  DeviceOptions options;
  options.program_folder = test::program_folder();
  options.gpu_family = family_named(target.family);
  options.force_copies = target.force_copies;
  if (target.id.starts_with("vulkan")) {
    vulkan::Tuning tuning;
    tuning.cache_folder = "";
    if (vulkan::validation_layers_present()) tuning.messages = &messages;
    return vulkan::open_device_tuned(0, options, tuning);
  }
  const auto set = named_set(target);
  return set ? make_host_device(HostArithmetic::contract, 2, options, *set) : open_device(target.id, options);
}

std::vector<OpCase> telling(const Target& target, std::vector<OpCase> cases) {
  if (!target.force_copies) return cases;
  const bool card = target.family == "simt";
  std::vector<OpCase> chosen;
  std::set<std::string> operators;  // a case's name begins with its operator's
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = cases[i].name.substr(0, cases[i].name.find(' '));
    const bool reads_row_pieces = card && (name.find("matmul") != std::string::npos || name == "embed");
    if (operators.insert(name).second || i % 5 == 0 || reads_row_pieces) chosen.push_back(std::move(cases[i]));
  }
  return chosen;
}

bool has_turn(const Target& target, int turn) {
  const std::string_view family = target.family, id = target.id;
  if (target.force_copies && family == "simt") return turn % 4 == 0;
  if (family.empty() || target.force_copies) return true;
  return (turn % 2 == 0) == (id.starts_with("vulkan") != (family == "simd"));
}

Snapshot snapshot(const CaseMemory& memory) {
  Snapshot all;
  for (const sync::Slot* slot : memory.slots()) all.emplace_back(slot->data(), slot->data() + slot->size_bytes());
  return all;
}

::testing::AssertionResult untouched_elsewhere(const CaseMemory& memory, const Snapshot& before, const Operator& op) {
  const std::vector<Region> written = writes(op);
  for (size_t i = 0; i < before.size(); ++i) {
    const sync::Slot& slot = *memory.slots()[i];
    std::vector<bool> allowed(before[i].size());
    for (const Region& region : written)
      for (int64_t row = 0; row < region.rows && region.at.slot == &slot; ++row)
        for (size_t b = 0; b < region.width_bytes; ++b)
          allowed[region.at.offset_bytes + static_cast<size_t>(row) * region.pitch_bytes + b] = true;
    for (size_t b = 0; b < before[i].size(); ++b)
      if (!allowed[b] && slot.data()[b] != before[i][b])
        return ::testing::AssertionFailure() << "byte " << b << " of '" << slot.label() << "' was overwritten";
  }
  return ::testing::AssertionSuccess();
}

bool is_within(double value, double expected, double allowed) {
  if (std::isnan(expected)) return std::isnan(value);
  return value == expected || (std::isfinite(expected) && std::fabs(value - expected) <= allowed);
}

::testing::AssertionResult close_to(const BuiltCase& reference, const BuiltCase& actual, bool f16_operands) {
  for (size_t o = 0; o < reference.outputs.size(); ++o) {
    const Output &want = reference.outputs[o], &have = actual.outputs[o];
    if (want.type == ElementType::bytes) continue;  // same_bits() compares them
    for (int64_t row = 0; row < want.rows; ++row)
      for (int64_t column = 0; column < want.width; ++column) {
        const int64_t at = row * want.stride + column;
        const bool ids = want.type == ElementType::i32;
        const double expected = ids ? want.at.as<int32_t>()[at] : want.at.as<float>()[at];
        const double value = ids ? have.at.as<int32_t>()[at] : have.at.as<float>()[at];
        const double allowed = want.tolerance(row, column, expected, f16_operands);
        if (!is_within(value, expected, allowed))
          return ::testing::AssertionFailure() << place(want, row, column) << " is " << value << ", the reference says "
                                               << expected << ", allowed difference " << allowed;
      }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult same_bits(const BuiltCase& one, const BuiltCase& other) {
  for (size_t o = 0; o < one.outputs.size(); ++o) {
    const Output &a = one.outputs[o], &b = other.outputs[o];
    const size_t element = a.type == ElementType::bytes ? 1 : 4;
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t column = 0; column < a.width; ++column) {
        const size_t at = static_cast<size_t>(row * a.stride + column) * element;
        if (std::memcmp(a.at.as<std::byte>() + at, b.at.as<std::byte>() + at, element) == 0) continue;
        ::testing::AssertionResult failure = ::testing::AssertionFailure();
        failure << place(a, row, column) << " has other bits";
        if (a.type == ElementType::f32)
          failure << ": " << a.at.advanced(at).as<float>()[0] << " and " << b.at.advanced(at).as<float>()[0];
        return failure;
      }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tandem::testing
