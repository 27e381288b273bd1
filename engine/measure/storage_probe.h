// Measures how fast a file can be read from storage, in the way that missing experts are read.
//
// Contract: reads blocks of a megabyte, spread over the file, many at once and past the page cache, for some 0.2 s.
// The file system may refuse that; `how` says so, and the rate is that of the page cache then. Nothing: the file is
// smaller than a block. Error when it cannot be read. Threads: those of the reader, and the caller's waits.
#pragma once

#include <optional>
#include <string>

namespace tandem {

struct StorageRate {
  double bytes_per_second = 0;
  std::string how;  // as BlockReader says it
};

std::optional<StorageRate> storage_rate(const std::string& path);

}  // namespace tandem
