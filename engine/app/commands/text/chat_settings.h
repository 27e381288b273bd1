// The settings of a chat that `/set NAME VALUE` changes.
#pragma once

#include <string>

#include "tandem/generate.h"

namespace tandem::app {

inline constexpr const char* kChatSettings = "temp, top-k, top-p, min-p, repeat-penalty, predict and seed";

// text: "temp 0.7". The values have the ranges of the flags of those names. Error: an unknown name, or a value out of
// its range.
void change_setting(GenerateOptions& options, const std::string& text);
std::string settings_of(const GenerateOptions& options);  // all of them on a line: "temp 0.7, top-k 40"

}  // namespace tandem::app
