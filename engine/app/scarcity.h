// Want of memory, of threads and of stack is named, wherever it is noticed: in a command, in a thread, in a destructor,
// in a driver that gives up.
//
// Contract: watch_for_scarcity() is called once, before work begins. It changes how std::terminate(), abort() and the
// use of a null pointer end the process: with exit status 1 and one paragraph, if memory was refused or is nearly used
// up. Other crashes end it as before. The handlers do not allocate.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "sync/error.h"

namespace tandem::app {

void watch_for_scarcity(bool json);

// The Error to report for what was caught, where it is want of memory or of threads; nothing: it is something else.
std::optional<Error> scarcity_behind(const std::exception& caught);

// A limit of memory shortens the list of devices: a note that says so, or nothing.
std::string scarcity_of_drivers();

// For operator new: a control group would kill the process that takes so many bytes. False for less than a few
// megabytes, which operator new is asked for all the time.
bool is_too_much_for_groups(size_t bytes) noexcept;

// From operator new, when the system has refused so many bytes.
void note_refused(size_t bytes) noexcept;

// Calls work() with room on its stack, and gives every thread that is started later room too, whatever `ulimit -s` says
// (engine/app/stack_room.cpp).
int with_stack_room(const std::function<int()>& work);

}  // namespace tandem::app
