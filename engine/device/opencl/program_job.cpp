#include "engine/device/opencl/program_job.h"

#include <cstring>
#include <utility>

#include "engine/device/proof/compiled_files.h"

namespace tandem::opencl {
namespace {

// Numbers are eight bytes; a text is its length and its bytes.
class JobWriter {
 public:
  void number(uint64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads what JobWriter has written. After the first thing that is missing, good() is false and all values are 0
// or empty.
class JobReader {
 public:
  explicit JobReader(std::string_view rest) : rest_(rest) {}
  uint64_t number() {
    uint64_t value = 0;
    const std::string_view bytes = some(sizeof value);
    if (good_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(some(number())); }
  // A number of things that take at least eight bytes each. A number beyond the bytes that are left is damage.
  uint64_t count() {
    const uint64_t value = number();
    good_ = good_ && value <= rest_.size() / 8;
    return good_ ? value : 0;
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  // Asking for more bytes than there are makes good() false from then on.
  std::string_view some(uint64_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::array<bool, 3> many_groups(const std::array<uint64_t, 3>& global, const std::array<uint64_t, 3>& local) {
  std::array<bool, 3> many{};
  for (size_t d = 0; d < 3; ++d) many[d] = global[d] / local[d] > 65535;
  return many;
}

// A program's source and its kept form have different keys, because a driver may survive only one of them.
uint64_t key_of(const std::string& device, const ProgramText& program) {
  return proof::mixed(program.options, proof::mixed(program.text, proof::mixed(device, program.kept ? 1 : 0)));
}

// A driver compiles a kernel for its work-group size and for the size class of its grid, so both are part of the key.
uint64_t key_of(uint64_t program, const ProgramJob& job) {
  if (job.task == ProgramJob::Task::build) return program;
  uint64_t key = proof::mixed(job.kernel, program ^ static_cast<uint64_t>(job.task));
  const auto many = many_groups(job.global, job.local);
  for (size_t d = 0; d < 3; ++d) key = proof::mixed(std::to_string(2 * job.local[d] + (many[d] ? 1 : 0)), key);
  return key;
}

// An argument begins with the index of its kind in JobArgument.
std::string write_job(const ProgramJob& job) {
  JobWriter out;
  out.number(static_cast<uint64_t>(job.task));
  out.text(job.program.text);
  out.text(job.program.options);
  out.number(job.program.kept ? 1 : 0);
  out.text(job.kernel);
  for (size_t d = 0; d < 3; ++d) out.number(job.global[d]), out.number(job.local[d]);
  out.number(job.first_word);
  out.number(job.buffers.size());
  for (const uint64_t bytes : job.buffers) out.number(bytes);
  out.number(job.arguments.size());
  for (const JobArgument& argument : job.arguments) {
    out.number(argument.index());
    if (const auto* buffer = std::get_if<JobBuffer>(&argument)) out.number(buffer->number);
    if (const auto* address = std::get_if<JobAddress>(&argument)) out.number(address->number);
    if (const auto* bytes = std::get_if<std::string>(&argument)) out.text(*bytes);
  }
  return out.take();
}

// Reads the parts in the order of write_job(). Then checks everything that launching would rely on: buffer numbers,
// work-group sizes above 0, a known task, and no bytes left over. A failed check gives nothing, and no job is done.
std::optional<ProgramJob> read_job(std::string_view bytes) {
  JobReader in(bytes);
  ProgramJob job;
  const uint64_t task = in.number();
  job.task = static_cast<ProgramJob::Task>(task);
  job.program.text = in.text();
  job.program.options = in.text();
  job.program.kept = in.number() != 0;
  job.kernel = in.text();
  for (size_t d = 0; d < 3; ++d) job.global[d] = in.number(), job.local[d] = in.number();
  job.first_word = in.number();
  job.buffers.resize(in.count());
  for (uint64_t& size : job.buffers) size = in.number();
  job.arguments.resize(in.count());
  for (JobArgument& argument : job.arguments) {
    const uint64_t kind = in.number();
    if (kind == 0) argument = JobBuffer{static_cast<uint32_t>(in.number())};
    if (kind == 1) argument = JobAddress{static_cast<uint32_t>(in.number())};
    if (kind == 2) argument = in.text();
    if (kind > 2) return std::nullopt;
  }
  // Every argument must name a buffer that exists.
  const auto known = [&](const JobArgument& argument) {
    if (const auto* buffer = std::get_if<JobBuffer>(&argument)) return buffer->number < job.buffers.size();
    if (const auto* address = std::get_if<JobAddress>(&argument)) return address->number < job.buffers.size();
    return true;
  };
  for (const JobArgument& argument : job.arguments)
    if (!known(argument)) return std::nullopt;
  for (const uint64_t local : job.local)
    if (local == 0) return std::nullopt;
  if (!in.at_end() || task > static_cast<uint64_t>(ProgramJob::Task::keep)) return std::nullopt;
  return job;
}

}  // namespace tandem::opencl
