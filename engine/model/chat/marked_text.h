// Text that remembers who wrote which stretch: the user or the template. Only the template's stretches may hold
// special tokens.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tandem {

struct MarkedText {
  struct Stretch {
    std::string text;
    bool of_user = false;
  };
  std::vector<Stretch> stretches;  // neighbours have different authors; a user's empty text is a stretch too

  MarkedText() = default;
  explicit MarkedText(std::string text, bool of_user = false) {
    if (!text.empty() || of_user) stretches.push_back({std::move(text), of_user});
  }

  void append(const MarkedText& more) {
    for (const Stretch& each : more.stretches) {
      if (!stretches.empty() && stretches.back().of_user == each.of_user)
        stretches.back().text += each.text;
      else
        stretches.push_back(each);
    }
  }
  std::string plain() const {
    std::string all;
    for (const Stretch& each : stretches) all += each.text;
    return all;
  }
  size_t bytes() const {
    size_t sum = 0;
    for (const Stretch& each : stretches) sum += each.text.size();
    return sum;
  }
};

}  // namespace tandem
