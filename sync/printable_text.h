// Text of a file or a driver, for a terminal.
#pragma once

#include <string>

namespace tandem {

// Control characters, which may move the cursor or change colours, become \xNN; tabs and line ends stay.
std::string printable_text(const std::string& text);

}  // namespace tandem
