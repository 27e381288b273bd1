// A list of programs, waits and signals in memory that the list kernel reads (kernels/list.cl). It is a pass of a few
// tokens, built when its plan is prepared and launched for every token.
//
// Contract
//   A list never changes once it is made. So it can be launched again while an earlier launch still runs, and every
//   launch runs what was prepared.
//   Two things differ between launches. The base of epochs comes with the launch. Positions and ids lie in memory that
//   records name by its address.
//   Ownership: borrows the pool and the flags. Keeps no program, since records hold addresses of slots. The launcher
//   keeps the list until the device has done it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/opencl/prepared.h"
#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::opencl {

// One program of a list. Its epochs count from a launch's base.
struct ListedLaunch {
  std::shared_ptr<const Prepared> program;  // has records
  std::vector<sync::WaitFor> waits;
  sync::Signal signal;
};

// One part of a list whose time can be measured: a wait (no program), or one record of a program.
struct ListPart {
  const Program* program = nullptr;  // identity in DeviceSpan; never dereferenced
  int op = 0;
};

class ProgramList {
 public:
  ProgramList(std::span<const ListedLaunch> launches, sync::Pool& pool);
  ~ProgramList();
  ProgramList(const ProgramList&) = delete;
  ProgramList& operator=(const ProgramList&) = delete;

  uint64_t address() const;                                            // address of its first record
  const std::string& name() const { return name_; }                    // name of its first program, for errors
  const std::vector<uint64_t>& variants() const { return variants_; }  // rising
  std::span<const ListPart> parts() const { return parts_; }
  std::span<const sync::WaitFor> waits() const { return waits_; }          // by their number in the list
  std::span<const sync::Signal> last_signals() const { return signals_; }  // the highest epoch of each flag

 private:
  sync::Pool& pool_;
  std::string name_;
  std::vector<uint64_t> variants_;
  std::vector<ListPart> parts_;
  std::vector<sync::WaitFor> waits_;
  std::vector<sync::Signal> signals_;
  sync::Slot* words_ = nullptr;
};

}  // namespace tandem::opencl
