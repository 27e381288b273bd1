// The formats of strings that a schema may name, as patterns.
//
// date and time are those of RFC 3339, without leap seconds and in capital letters; days fit their months, and years go
// from 0001. email: dot-separated words of RFC 5322 before the @, and a host name behind it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::constraint {

std::optional<std::string> pattern_of_format(std::string_view format);  // nothing: it is not known

}  // namespace tandem::constraint
