#include "engine/device/opencl/program_files.h"

#include <spdlog/spdlog.h>

#include <cstring>

#include "engine/device/gpu/kept_file.h"
#include "sync/whole_file.h"

namespace tandem::opencl {
namespace {

// Two different seeds, so that name and header hold two independent hashes of the same things.
constexpr uint64_t kNameSeed = 0xcbf29ce484222325u, kHeaderSeed = 0x9e3779b97f4a7c15u;

struct Header {
  char magic[8] = {'T', 'N', 'D', 'M', 'P', 'R', 'O', 'G'};
  uint64_t version = 1, key = 0, bytes = 0, checksum = 0;
};

std::span<const char> chars(const std::vector<unsigned char>& data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::string info(const cl::Device& device, cl_device_info what) {
  std::string text;
  device.getInfo(what, &text);
  return text + "|";
}

}  // namespace

// Names and versions of the device and its driver are part of every file's name. So a new driver finds no file of an
// old one.
ProgramFiles::ProgramFiles(std::string folder, const cl::Device& device) : folder_(std::move(folder)) {
  for (const cl_device_info what : {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION})
    compiler_ += info(device, what);
}

// A chain of hashes: first the compiler, then the options, and then the text.
uint64_t ProgramFiles::key(uint64_t seed, const std::string& text, const std::string& options) const {
  return gpu::fnv1a(text, gpu::fnv1a(options + "|", gpu::fnv1a(compiler_, seed)));
}

// All programs of all devices lie in one folder.
std::string ProgramFiles::path(const std::string& text, const std::string& options) const {
  return fmt::format("{}/opencl/{:016x}.program", folder_, key(kNameSeed, text, options));
}

// The header must fit in every part before the driver gets the data, because drivers may crash on damaged data. A file
// that was used stays longer than others when files are removed (gpu/kept_file.h).
std::optional<std::vector<unsigned char>> ProgramFiles::load(const std::string& text,
                                                             const std::string& options) const noexcept {
  if (!kept()) return std::nullopt;
  try {
    const std::string name = path(text, options);
    const auto content = read_file_if_there(name);
    if (!content) return std::nullopt;
    Header header;
    const Header wanted;
    if (content->size() >= sizeof header) {
      std::memcpy(&header, content->data(), sizeof header);
      const auto program = std::span(*content).subspan(sizeof header);
      if (std::memcmp(header.magic, wanted.magic, sizeof wanted.magic) == 0 && header.version == wanted.version &&
          header.key == key(kHeaderSeed, text, options) && header.bytes == program.size() &&
          header.checksum == gpu::fnv1a(program)) {
        gpu::mark_as_used(name);
        return std::vector<unsigned char>(program.begin(), program.end());
      }
    }
    spdlog::warn("a kept OpenCL program is ignored and will be made anew: {}: it is damaged or another's", name);
  } catch (const std::exception& error) {
    spdlog::warn("a kept OpenCL program is ignored: {}", error.what());
  }
  return std::nullopt;
}

std::string ProgramFiles::save(const std::string& text, const std::string& options,
                               const std::vector<unsigned char>& program) const noexcept {
  if (!kept()) return "";
  Header header;
  header.key = key(kHeaderSeed, text, options);
  header.bytes = program.size();
  header.checksum = gpu::fnv1a(chars(program));
  return gpu::replace_file(path(text, options),
                           {{reinterpret_cast<const char*>(&header), sizeof header}, chars(program)});
}

}  // namespace tandem::opencl
