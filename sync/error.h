// The project's error type, and the checks that throw it.
//
// Contract: checks of invariants (TANDEM_CHECK) stay on in release builds. Checks in hot loops (TANDEM_DCHECK) are
// compiled into debug builds only.
#pragma once

#include <string>

#include "tandem/error.h"

namespace tandem {

[[noreturn]] void throw_check_failed(const char* expression, const char* file, int line, const std::string& detail);

}  // namespace tandem

#define TANDEM_CHECK(condition, detail) \
  ((condition) ? static_cast<void>(0) : ::tandem::throw_check_failed(#condition, __FILE__, __LINE__, (detail)))
#ifdef NDEBUG
#define TANDEM_DCHECK(condition, detail) static_cast<void>(0)
#else
#define TANDEM_DCHECK(condition, detail) TANDEM_CHECK(condition, detail)
#endif
