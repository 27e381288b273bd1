// Generates the source of the list kernel (kernels/list.cl) for the kernels that a set of programs uses, and the
// records that it reads.
//
// Every variant (source, build options, kernel) becomes an inlined function with its own name. Macros rename
// its file-scope names, so that sources need not avoid each other's names. The sources stay as they are for
// ordinary launches.
//
// Contract: all functions are pure; a ListVariants object belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/device/gpu/launch.h"
#include "sync/flag.h"

namespace tandem::opencl {

using gpu::Arg, gpu::BufferArg, gpu::KernelLaunch;

// Whether a launch can be part of a list: it has at most most_tokens tokens, and one work-item in a work-group.
bool can_be_listed(const KernelLaunch& launch, int64_t most_tokens);

class ListVariants {
 public:
  // The variant's number in the list kernel, a hash of what it is. So the same set of variants has the same source in
  // every process, and what one process has compiled serves the next.
  uint64_t number_of(const KernelLaunch& launch);
  size_t size() const { return variants_.size(); }
  // The source to put between common.cl and list.cl, for a kernel that knows exactly the chosen variants.
  // chosen: rising.
  std::string source(std::span<const uint64_t> chosen) const;

 private:
  struct Variant {
    std::string source, options, kernel;
    std::vector<size_t> kinds;  // alternatives of Arg, in order: how a record's words are read
    bool operator==(const Variant&) const = default;
  };
  static std::string call(const Variant& variant, uint64_t number);
  std::map<uint64_t, Variant> variants_;  // by number
};

// Appends the launch's record. Its addresses are those of the launch's slots.
void append_record(const KernelLaunch& launch, uint64_t variant, std::vector<uint64_t>& records);
// Appends a wait, a signal or the end of a list. Epochs count from the launch's base. number: the wait's number in
// its list.
void append_wait(const sync::WaitFor& wait, uint32_t number, std::vector<uint64_t>& records);
void append_signal(const sync::Signal& signal, std::vector<uint64_t>& records);
void append_end(std::vector<uint64_t>& records);

// Names that a source defines at file scope: functions and types, and macros.
struct DefinedNames {
  std::vector<std::string> functions, macros;
};
DefinedNames defined_names(const std::string& source);

}  // namespace tandem::opencl
