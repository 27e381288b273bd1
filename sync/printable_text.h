// Makes text from a file or a driver safe to print on a terminal.
#pragma once

#include <string>

namespace tandem {

// Control characters, which may move the cursor or change colours, become \xNN. Tabs and line ends stay.
std::string printable_text(const std::string& text);

}  // namespace tandem
