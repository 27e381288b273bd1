// What a test needs and may not find: a driver's device, data too large for the repository. The test then skips with
// the reason, unless REQUIRE_OPENCL, REQUIRE_VULKAN or REQUIRE_DATA says that it must be here: then it fails.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace tandem::test {

enum class Needs { opencl, vulkan, data };

// The environment variable that makes the absence a failure.
const char* required_by(Needs what);
// That variable is set, to anything but nothing and 0.
bool is_required(Needs what);
// What is needed for a device whose id starts with "opencl" or "vulkan"; nothing for ours, which are always here.
std::optional<Needs> needs_of(std::string_view device);

// The reason as it stands, or with the variable that does not allow for it.
std::string absence(std::optional<Needs> what, const std::string& reason);

}  // namespace tandem::test

// Leaves the test or its SetUp: skipped with the reason, or failed where `needs` (a std::optional<Needs>) is required.
#define SKIP_OR_FAIL(needs, reason)                                   \
  do {                                                                \
    const std::optional<::tandem::test::Needs> what = (needs);        \
    const std::string text = ::tandem::test::absence(what, (reason)); \
    if (what && ::tandem::test::is_required(*what)) FAIL() << text;   \
    GTEST_SKIP() << "skipped: " << text;                              \
  } while (false)
// The same for opencl, vulkan or data: `if (!path) SKIP_FOR_WANT_OF(data, "no vocabularies");`
#define SKIP_FOR_WANT_OF(what, reason) SKIP_OR_FAIL(::tandem::test::Needs::what, reason)
