// Tries the drivers of an interface in child processes until no child dies any more.
//
// Contract: try_out() never throws for what a driver does. Every child lists the devices and opens them one after the
// other, and announces each step before it takes it (prove_main.cpp).
//   If a child dies, the next one is spared the step at which it died. If that step cannot be spared, the
//   device is unusable, and the next child begins behind it. A device that computes wrong values is unusable as
//   well (UnfitDevice).
//   If listing the devices kills the child, drivers are added one by one, and the fatal ones are left out.
//   A child says nothing about its driver if it lacked something of the machine's (circumstances.h), or if a user or
//   the system ended it. Its device is left out then, and no step is spared.
//   Throws Interrupted if the user asks to stop. Blocks for as long as opening all devices takes, and for `silence`
//   more for each driver that hangs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/proof/verdict.h"

namespace tandem::proof {

class CompiledFiles;

struct Prover {
  std::string program;                // path of tandem-prove
  std::string folder;                 // where lists of drivers for the children are written
  std::chrono::seconds silence{60};   // longest time between two signs of life; compiling a probe is the longest step
  CompiledFiles* compiled = nullptr;  // PoCL's files: set aside once, if a child dies of one of its devices
};

// The verdict may be kept if the machine lacked nothing (Verdict::wanting).
Verdict try_out(Api api, const std::vector<std::string>& manifests, const Prover& prover);

// Whether a device can be used without this step.
bool may_be_spared(const std::string& step);

}  // namespace tandem::proof
