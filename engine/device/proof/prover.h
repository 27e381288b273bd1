// Tries the drivers of an interface in child processes until all that can crash has crashed there.
//
// Contract: try_out() never throws for what a driver does. Every child lists the devices and opens them one after the
// other, saying each step before it takes it (prove_main.cpp). When it dies, the step it was at is spared the next
// time; a step that cannot be spared makes the device unusable, and the next child begins behind it. A device that is
// found to compute wrong values is unusable as well (UnfitDevice). When listing kills the child, drivers are added one
// by one, and those that kill are left out. A child that ended for want of something of the machine's
// (circumstances.h), or that somebody else has ended, says nothing about its driver: its device is left out, and no
// step is spared. Interrupted where the user asks to stop. Blocks for as long as opening all devices takes, and
// `silence` more for each driver that hangs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/proof/verdict.h"

namespace tandem::proof {

class CompiledFiles;

struct Prover {
  std::string program;                // tandem-prove
  std::string folder;                 // for what children are given: lists of drivers
  std::chrono::seconds silence{60};   // between two signs of life: compiling a probe is the longest step
  CompiledFiles* compiled = nullptr;  // PoCL's: set aside, once, where a child dies of one of its devices
};

// The verdict may be kept where nothing was wanting (Verdict::wanting).
Verdict try_out(Api api, const std::vector<std::string>& manifests, const Prover& prover);

// Steps without which a device can be used all the same.
bool may_be_spared(const std::string& step);

}  // namespace tandem::proof
