// Parts of a split model, in memory. The input begins with the number of parts. Each part is a length of two bytes and
// its bytes. The name of the first part follows.
#include "engine/model/gguf_split.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

constexpr size_t kMostParts = 4;

size_t take_size(Bytes& input) {
  if (input.size() < 2) return 0;
  const size_t size = std::to_integer<size_t>(input[0]) + 256 * std::to_integer<size_t>(input[1]);
  input = input.subspan(2);
  return std::min(size, input.size());
}

}  // namespace

void gguf_split(Bytes input) {
  if (input.empty()) return;
  const size_t count = std::to_integer<size_t>(input[0]) % (kMostParts + 1);
  input = input.subspan(1);
  std::vector<Bytes> parts;
  for (size_t i = 0; i < count; ++i) {
    const size_t size = take_size(input);
    parts.push_back(input.first(size));
    input = input.subspan(size);
  }
  if (parts.empty()) return;
  const std::string path(reinterpret_cast<const char*>(input.data()), input.size());
  size_t opened = 0;
  try {
    GgufContents contents = read_gguf(parts[0], path);
    append_split_parts(path, contents, [&](const std::string& part) -> std::optional<Bytes> {
      must_hold(part != path && part.size() == path.size(), "another part has another name of the same length");
      if (++opened >= parts.size()) return std::nullopt;
      return parts[opened];
    });
    must_hold(split_count(contents, path) == opened + 1 || opened == 0, "every part was opened, or there is only one");
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
