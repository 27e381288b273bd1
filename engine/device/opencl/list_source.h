// The source of the list kernel (kernels/list.cl) for the kernels that a set of programs uses, and the records it
// reads. Pure.
//
// Every variant (source, build options, kernel) becomes an inlined function with a name of its own; its file-scope
// names are renamed by macros, so that sources need not know of each other. The sources stay as they are for ordinary
// launches.
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

// Of a few tokens, without a work-group.
bool can_be_listed(const KernelLaunch& launch, int64_t most_tokens);

class ListVariants {
 public:
  // Its number in the list kernel, made of what it is: the same set of variants has the same source in every process,
  // so that what one compiled serves the next.
  uint64_t number_of(const KernelLaunch& launch);
  size_t size() const { return variants_.size(); }
  // What goes between common.cl and list.cl, for a kernel that knows the given variants (rising) and no others.
  std::string source(std::span<const uint64_t> chosen) const;

 private:
  struct Variant {
    std::string source, options, kernel;
    std::vector<size_t> kinds;  // Arg alternatives in order: they decide how a record's words are read
    bool operator==(const Variant&) const = default;
  };
  static std::string call(const Variant& variant, uint64_t number);
  std::map<uint64_t, Variant> variants_;  // by number
};

// Appends the launch's record; addresses are those of its slots.
void append_record(const KernelLaunch& launch, uint64_t variant, std::vector<uint64_t>& records);
// What stands between records; epochs count from the launch's base. number: of the wait in its list.
void append_wait(const sync::WaitFor& wait, uint32_t number, std::vector<uint64_t>& records);
void append_signal(const sync::Signal& signal, std::vector<uint64_t>& records);
void append_end(std::vector<uint64_t>& records);

// Names a source defines at file scope: functions, types, macros.
struct DefinedNames {
  std::vector<std::string> functions, macros;
};
DefinedNames defined_names(const std::string& source);

}  // namespace tandem::opencl
