// Says how much memory a model would take, and which bounds its speed has. Nothing is loaded: sizes follow from the
// file's head and the flags. `tandem info` prints it.
#include "engine/app/commands/models/memory_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/app/commands/open_engine.h"
#include "engine/measure/roofline_probe.h"
#include "engine/measure/storage_probe.h"
#include "engine/model/weights.h"
#include "engine/run/activation_sizes.h"
#include "engine/run/machine/memory_needs.h"
#include "sync/affinity.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

using nlohmann::json;

// Bytes of experts; null: the model has none. A token reads those that it uses.
json experts_json(const MemoryNeeds& needs) {
  if (needs.experts == 0) return nullptr;
  return {{"bytes", needs.expert_bytes},
          {"per_layer", needs.experts},
          {"in_memory_per_layer", needs.slots},
          {"in_host_memory_per_layer", needs.in_host == 0 ? json() : json(needs.in_host)},
          {"token_bytes", needs.token_expert_bytes}};
}

// A file that is too small to be measured stands in memory as a whole, so no storage is waited for.
json speed_json(const MemoryNeeds& needs, const std::string& path) {
  const double memory = RooflineProbe(usable_cores()).measure().read_all_gbps * 1e9;
  const std::optional<StorageRate> storage = needs.experts_move() ? storage_rate(path) : std::nullopt;
  const TokenTime time = least_token_time(needs, memory, storage ? storage->bytes_per_second : memory);
  json speed{{"memory_bytes_per_second", memory},
             {"storage_bytes_per_second", nullptr},
             {"storage_how", nullptr},
             {"token_memory_seconds", time.memory},
             {"token_storage_seconds", time.storage}};
  if (storage) {
    speed["storage_bytes_per_second"] = storage->bytes_per_second;
    speed["storage_how"] = storage->how;
  }
  return speed;
}

// A model that does not fit is no error here. too_little: why it does not fit, else empty.
MemoryNeeds needs_of(const GgufFile& file, const CommonFlags& flags, std::string& too_little) {
  TextOptions text;
  text.context = flags.ctx_size;
  const int64_t context = context_of(text, read_config(file));
  const ExpertBudgets budgets{flags.engine.expert_budget, flags.engine.host_budget, flags.engine.expert_copies};
  const std::optional<MemoryRoom> room = memory_room();
  const auto needs = [&](const std::optional<MemoryRoom>& counted) {
    return memory_needs(file, budgets, context, kv_type_of(flags), counted);
  };
  MemoryNeeds result;
  try {
    result = needs(room);
    if (room && result.resident_bytes() > room->bytes) too_little = "the weights do not fit the free memory";
  } catch (const Error& error) {
    result = needs(std::nullopt);
    too_little = error.what();
  }
  result.room = room;
  return result;
}

// Sizes in the text are MiB, as those of flags.
double mebibytes(const json& bytes) { return bytes.get<double>() / (1 << 20); }

// Experts that are not all in memory are read while text is written, so both numbers are shown.
void print_experts(const json& experts) {
  const auto all = experts["per_layer"].get<long long>(), inside = experts["in_memory_per_layer"].get<long long>();
  const double bytes = mebibytes(experts["bytes"]);
  if (!experts["in_host_memory_per_layer"].is_null())
    std::printf(
        "  experts       %lld of %lld of each layer in slots of the GPU, %lld in the host's memory beside them, "
        "%.1f MiB for all\n",
        inside, all, experts["in_host_memory_per_layer"].get<long long>(), bytes);
  else if (inside == all)
    std::printf("  experts       all %lld of each layer in memory, %.1f MiB\n", all, bytes);
  else
    std::printf(
        "  experts       %lld of %lld of each layer in memory, %.1f of %.1f MiB; the others are read from "
        "the packed file\n",
        inside, all, bytes * static_cast<double>(inside) / static_cast<double>(all), bytes);
}

// The prediction is a bound: a token cannot be faster than the reading of its weights.
void print_speed(const json& speed) {
  const double memory = speed["token_memory_seconds"].get<double>(),
               storage = speed["token_storage_seconds"].get<double>();
  std::printf("  measured      memory %.1f GB/s", speed["memory_bytes_per_second"].get<double>() * 1e-9);
  if (!speed["storage_how"].is_null())
    std::printf(", storage %.2f GB/s (%s)", speed["storage_bytes_per_second"].get<double>() * 1e-9,
                speed["storage_how"].get<std::string>().c_str());
  std::printf("\n  predicted     a token reads its weights in %.2f ms", 1e3 * (memory + storage));
  if (storage > 0)
    std::printf(" (memory %.2f, storage %.2f if all experts are asked for equally often)", 1e3 * memory, 1e3 * storage);
  std::printf(", so at most %.1f tokens/s\n", 1 / (memory + storage));
}

}  // namespace

// The memory of weights, keys and values beside what is free, and with --speed the bound on tokens a second.
json memory_json(const GgufFile& file, const CommonFlags& flags, bool speed) {
  std::string too_little;
  const MemoryNeeds needs = needs_of(file, flags, too_little);
  json memory{{"packed_bytes", needs.weight_bytes},
              {"in_memory_bytes", needs.resident_bytes()},
              {"context", needs.context},
              {"context_bytes", needs.context_bytes},
              {"free_bytes", nullptr},
              {"free_in", nullptr},
              {"too_little", too_little.empty() ? json() : json(too_little)},
              {"experts", experts_json(needs)},
              {"speed", nullptr}};
  if (needs.room) {
    memory["free_bytes"] = needs.room->bytes;
    memory["free_in"] = needs.room->whose;
  }
  if (speed) memory["speed"] = speed_json(needs, file.path());
  return memory;
}

// Free memory may be unknown, for example within a container without a limit, and then it is left out.
void print_memory(const json& memory) {
  std::printf("  memory        packed weights %.1f MiB, keys and values of %lld tokens %.1f MiB",
              mebibytes(memory["in_memory_bytes"]), memory["context"].get<long long>(),
              mebibytes(memory["context_bytes"]));
  if (!memory["free_bytes"].is_null())
    std::printf("; free %.1f MiB (%s)", mebibytes(memory["free_bytes"]), memory["free_in"].get<std::string>().c_str());
  std::printf("\n");
  if (!memory["too_little"].is_null())
    std::printf("  note          %s\n", memory["too_little"].get<std::string>().c_str());
  if (!memory["experts"].is_null()) print_experts(memory["experts"]);
  if (!memory["speed"].is_null()) print_speed(memory["speed"]);
}

}  // namespace tandem::app
