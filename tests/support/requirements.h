// Things that a test needs and that may be missing: the device of a driver, or data too large for the repository.
// Then the test skips with the reason. It fails instead if REQUIRE_OPENCL, REQUIRE_VULKAN or REQUIRE_DATA requires
// the thing.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace tandem::test {

enum class Needs { opencl, vulkan, data };

// The environment variable that turns the skip into a failure.
const char* required_by(Needs what);
// Whether that variable is set to anything except "" and "0".
bool is_required(Needs what);
// The need of a device whose id starts with "opencl" or "vulkan". Tandem's own devices are always there and
// need nothing.
std::optional<Needs> needs_of(std::string_view device);

// The reason, with the variable that forbids the absence if it is set.
std::string absence(std::optional<Needs> what, const std::string& reason);

}  // namespace tandem::test

// Leaves the test or its SetUp. The test is skipped with the reason, or fails if `needs` (a std::optional<Needs>)
// is required.
#define SKIP_OR_FAIL(needs, reason)                                   \
  do {                                                                \
    const std::optional<::tandem::test::Needs> what = (needs);        \
    const std::string text = ::tandem::test::absence(what, (reason)); \
    if (what && ::tandem::test::is_required(*what)) FAIL() << text;   \
    GTEST_SKIP() << "skipped: " << text;                              \
  } while (false)
// The same for opencl, vulkan or data: `if (!path) SKIP_FOR_WANT_OF(data, "no vocabularies");`
#define SKIP_FOR_WANT_OF(what, reason) SKIP_OR_FAIL(::tandem::test::Needs::what, reason)
