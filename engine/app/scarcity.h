// Reports scarcity of memory, threads or stack by name. It may show in a command, a thread, a destructor, or a driver
// that gives up.
//
// Contract: watch_for_scarcity() is called once, before work begins. It changes how std::terminate(), abort() and the
// use of a null pointer end the process. If memory was refused or is nearly used up, the process ends with exit status
// 1 and one paragraph. Other crashes end it as before. The handlers do not allocate.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "sync/error.h"

namespace tandem::app {

void watch_for_scarcity(bool json);

// The Error to report if `caught` was caused by scarcity of memory or threads; absent for other causes.
std::optional<Error> scarcity_behind(const std::exception& caught);

// A note if a memory limit keeps drivers from the list of devices; "" otherwise.
std::string scarcity_of_drivers();

// For operator new: true if a control group would kill the process for allocating so many bytes. False for less than a
// few megabytes, because such requests are frequent.
bool is_too_much_for_groups(size_t bytes) noexcept;

// Called by operator new when the system has refused so many bytes.
void note_refused(size_t bytes) noexcept;

// Calls work() with enough room on its stack, whatever `ulimit -s` says. Every thread that starts later has enough room
// too (engine/app/stack_room.cpp).
int with_stack_room(const std::function<int()>& work);

}  // namespace tandem::app
