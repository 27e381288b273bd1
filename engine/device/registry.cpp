// The devices of this machine by id. Each kind of device has a factory, and tests can add more.
#include "engine/device/registry.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "engine/device/device_id.h"
#include "engine/device/host/host_device.h"
#include "engine/device/ndp/ndp_device.h"
#include "engine/device/npu/npu_device.h"
#include "engine/device/opencl/opencl_device.h"
#include "engine/device/proof/driver_files.h"
#include "engine/device/proof/proof.h"
#include "engine/device/thread_device.h"
#include "engine/device/vulkan/vulkan_device.h"
#include "sync/error.h"

namespace tandem {
namespace {

// A parameter of GPUs. 1: the device shares no memory with the host, even if it could.
constexpr const char* kCopies = "copies";

constexpr proof::Api kApis[] = {proof::Api::opencl, proof::Api::vulkan};

// Kinds that add_device_factory() added. A function-local static, so that static initialisers may add kinds.
std::vector<DeviceFactory>& added_factories() {
  static std::vector<DeviceFactory> added;
  return added;
}

std::optional<DeviceFactory> find_factory(std::string_view prefix) {
  for (const DeviceFactory& factory : device_factories()) {
    if (prefix == factory.prefix) return factory;
  }
  return std::nullopt;
}

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text.empty() ? "none" : text;
}

// Ids of the available devices of the chosen kinds: real GPUs first. Loads no driver of another kind.
std::vector<std::string> available(const std::function<bool(const DeviceFactory&)>& chosen) {
  std::vector<std::string> gpus, others;
  for (const DeviceFactory& factory : device_factories()) {
    if (!chosen(factory)) continue;
    const std::vector<UnusableDevice> unusable =
        factory.kind == DeviceKind::gpu ? unusable_devices() : std::vector<UnusableDevice>();
    const DeviceCount count = factory.count();
    for (int index = 0; index < count.all; ++index) {
      std::string id = factory.prefix;
      if (factory.numbered) id.append(":").append(std::to_string(index));
      if (std::ranges::any_of(unusable, [&](const UnusableDevice& one) { return one.id == id; })) continue;
      // A kind lists its real GPUs first, so the index tells them from the others.
      (index < count.gpus ? gpus : others).push_back(std::move(id));
    }
  }
  gpus.insert(gpus.end(), others.begin(), others.end());
  return gpus;
}

// A hint for errors: the available devices, the unusable ones of the interface that `id` names, and why its drivers do
// not list their devices.
std::string what_there_is(std::string_view id) {
  std::string hint = "available: " + joined(available_devices());
  for (const proof::Api api : kApis) {
    if (!id.starts_with(proof::name_of(api))) continue;
    for (const proof::Unusable& one : proof::unusable(api)) hint += "; " + one.id + " is left out: " + one.reason;
    const std::string failure = api == proof::Api::opencl ? opencl_listing_failure() : vulkan_listing_failure();
    if (!failure.empty()) hint += "; " + failure;
  }
  return hint;
}

// A parameter that the kind does not know is an error, so that a misspelt one is noticed.
void require_known(const DeviceParameters& parameters, const DeviceFactory& factory) {
  for (const auto& [name, value] : parameters) {
    if (std::ranges::find(factory.parameters, name) != factory.parameters.end()) continue;
    throw Error("the device has no such parameter", name + " of " + factory.prefix,
                "it knows: " + joined(factory.parameters));
  }
}

struct Named {
  DeviceFactory factory;
  DeviceId id;
};

// Error when the text is not an id, the kind of device does not exist, or it does not know a parameter.
Named find(std::string_view text) {
  std::optional<DeviceId> id = parse_device_id(text);
  std::optional<DeviceFactory> factory = id ? find_factory(id->prefix) : std::nullopt;
  if (!factory) throw Error("there is no such device", std::string(text), what_there_is(text));
  require_known(id->parameters, *factory);
  return {*std::move(factory), *std::move(id)};
}

void require_index(const DeviceFactory& factory, const DeviceId& id, std::string_view text) {
  if (id.index >= std::max(factory.count().all, factory.most))
    throw Error("there is no such device", std::string(text), what_there_is(text));
}

// Whether the id has "copies=1". Error when the value is neither 0 nor 1.
bool copies_asked_for(const DeviceId& id) {
  const auto found = id.parameters.find(kCopies);
  if (found == id.parameters.end() || found->second == "0") return false;
  if (found->second == "1") return true;
  throw Error("'" + found->second + "' is no value of copies", id.prefix, "It is 0 or 1");
}

std::vector<KnownGpu> known_gpus_without(std::span<const UnusableDevice> left_out) {
  std::vector<KnownGpu> known = known_gpus();
  std::erase_if(known, [&](const KnownGpu& gpu) { return is_among(left_out, gpu.id); });
  return known;
}

}  // namespace

// The fields of a row are those of DeviceFactory, in their order. GPUs come first, and added kinds come last. The
// first row of a kind is the default of its kind: "host" stands before other devices of the host's cores.
std::vector<DeviceFactory> device_factories() {
  std::vector<DeviceFactory> all = {
      {"opencl",
       DeviceKind::gpu,
       "GPUs and CPU devices through OpenCL",
       opencl_device_count,
       open_opencl_device,
       {kCopies},
       true,
       true,
       known_opencl_gpus},
      {"vulkan",
       DeviceKind::gpu,
       "GPUs and CPU devices through Vulkan",
       vulkan_device_count,
       open_vulkan_device,
       {kCopies},
       true,
       false,
       known_vulkan_gpus},
      {"npu", DeviceKind::npu, "the emulated neural processing unit", npu_device_count, open_npu_device, {"params"}},
      {"host",
       DeviceKind::host,
       "vectorised loops on the host's cores",
       host_device_count,
       open_host_device,
       {},
       false},
      {"ndp",
       DeviceKind::unit,
       "emulated near-memory units, which compute experts",
       ndp_device_count,
       open_ndp_device,
       {"gbps", "gmacs", "gib", "link", "host", "card_gbps", "card_gmacs", "card_gib"},
       true,
       false,
       nullptr,
       kMostNdpUnits},
  };
  all.insert(all.end(), added_factories().begin(), added_factories().end());
  return all;
}

void add_device_factory(const DeviceFactory& factory) { added_factories().push_back(factory); }

std::unique_ptr<Device> open_device(std::string_view text, const DeviceOptions& options) {
  const auto [factory, id] = find(text);
  require_index(factory, id, text);
  DeviceOptions own = options;
  own.parameters = id.parameters;
  own.force_copies = own.force_copies || copies_asked_for(id);
  return factory.open(id.index, own);
}

// Several near-memory units work on one thread, as they have no core of their own in the emulation.
std::unique_ptr<Device> open_unit_on(Device& other, std::string_view text, const DeviceOptions& options) {
  const auto [factory, id] = find(text);
  auto* thread = dynamic_cast<ThreadDevice*>(&other);
  TANDEM_CHECK(thread != nullptr && factory.kind == DeviceKind::unit, "a unit on the thread of another unit");
  require_index(factory, id, text);
  DeviceOptions own = options;
  own.parameters = id.parameters;
  return open_ndp_beside(*thread, id.index, own);
}

// The host's loops then run on the other device's thread, in turn with its own work.
std::unique_ptr<Device> open_host_on(Device& other, const DeviceOptions& options) {
  auto* thread = dynamic_cast<ThreadDevice*>(&other);
  if (thread == nullptr) throw Error("the device has no thread to share", other.info().id, "open the host by itself");
  return open_host_beside(*thread, options);
}

DeviceFactory device_factory(std::string_view text) { return find(text).factory; }

std::string first_device(DeviceKind kind) {
  const std::vector<std::string> ids = available([&](const DeviceFactory& one) { return one.kind == kind; });
  return ids.empty() ? "" : ids.front();
}

bool is_among(std::span<const UnusableDevice> devices, const std::string& id) {
  return std::ranges::find(devices, id, &UnusableDevice::id) != devices.end();
}

std::vector<KnownGpu> known_gpus() {
  std::vector<KnownGpu> all;
  for (const DeviceFactory& factory : device_factories()) {
    if (factory.known == nullptr) continue;
    std::vector<KnownGpu> gpus = factory.known();
    all.insert(all.end(), gpus.begin(), gpus.end());
  }
  return all;
}

// If the first available GPU is none of the known real ones (a CPU device, for example), it stays the choice.
std::string best_gpu(std::span<const UnusableDevice> left_out) {
  const std::string first = first_device(DeviceKind::gpu);
  const std::vector<KnownGpu> known = first.empty() ? std::vector<KnownGpu>() : known_gpus_without(left_out);
  if (is_among(left_out, first)) return known.empty() ? "" : known[best_of(known)].id;
  if (known.empty() || known.front().id != first) return first;
  return known[best_of(known)].id;
}

bool may_have_card() {
  return proof::may_have_card() ||
         std::ranges::any_of(added_factories(), [](const DeviceFactory& each) { return each.known != nullptr; });
}

// A card counts as discrete when any interface to it says so.
std::optional<KnownGpu> default_card(std::span<const UnusableDevice> left_out) {
  const std::vector<KnownGpu> known = known_gpus_without(left_out);
  if (known.empty()) return std::nullopt;
  const auto of_a_card = [&](const KnownGpu& gpu) { return gpu.discrete && is_same_card(gpu, known.front()); };
  KnownGpu best = known[best_of(known)];
  best.discrete = std::ranges::any_of(known, of_a_card);  // one of the interfaces may not report it
  return best.discrete ? std::optional(best) : std::nullopt;
}

// Devices that a driver lists and that failed their proof, with the reason.
std::vector<UnusableDevice> unusable_devices() {
  std::vector<UnusableDevice> all;
  for (const proof::Api api : kApis) {
    for (const proof::Unusable& one : proof::unusable(api)) all.push_back({one.id, one.name, one.reason});
  }
  return all;
}

std::vector<std::string> untried_interfaces() {
  std::vector<std::string> all;
  for (const proof::Api api : kApis) {
    const proof::Verdict verdict = proof::verdict(api);
    if (!verdict.tried) all.push_back(std::string(proof::name_of(api)) + ": " + verdict.note);
  }
  return all;
}

std::vector<std::string> available_devices() {
  return available([](const DeviceFactory&) { return true; });
}

void configure_drivers(const DeviceOptions& options) {
  configure_opencl(options);
  configure_vulkan(options);
}

}  // namespace tandem
