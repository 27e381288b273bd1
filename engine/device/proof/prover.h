// Tries the drivers of an interface in child processes until all that can crash has crashed there.
//
// Contract: try_out() never throws for what a driver does. Every child lists the devices and opens them one after the
// other, saying each step before it takes it (prove_main.cpp). When it dies, the step it was at is spared the next
// time; a step that cannot be spared makes the device unusable, and the next child begins behind it. A device that is
// found to compute wrong values is unusable as well (UnfitDevice). When listing kills the child, drivers are added one
// by one, and those that kill are left out. Blocks for as long as opening all devices takes, and
// `silence` more for each driver that hangs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/proof/verdict.h"

namespace tandem::proof {

struct Prover {
  std::string program;               // tandem-prove
  std::string folder;                // for what children are given: lists of drivers
  std::chrono::seconds silence{60};  // between two signs of life: compiling a probe is the longest step
};

// Also told: whether the verdict may be kept. A child that somebody else has ended says nothing about its driver.
struct Trial {
  Verdict verdict;
  bool lasting = true;
};
Trial try_out(Api api, const std::vector<std::string>& manifests, const Prover& prover);

// Steps without which a device can be used all the same.
bool may_be_spared(const std::string& step);

}  // namespace tandem::proof
