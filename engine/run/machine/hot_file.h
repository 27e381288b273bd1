// Y6: the counts of used experts beside the packed file, from run to run.
//
// Contract: the file is written whole or not at all. Neither function throws: without the file the next run begins
// with empty slots. Threads: any, but one at a time for each path.
#pragma once

#include <optional>
#include <string>

#include "engine/moe/hot_experts.h"

namespace tandem {

// The file that belongs to a packed file.
std::string hot_file_of(const std::string& packed_file);

// What earlier runs chose. Nothing: there is no file, or it is damaged or of another model, and `why` says so. model:
// counts of the model, of any size.
std::optional<HotExperts> read_hot_file(const std::string& path, const HotExperts& model, std::string& why) noexcept;
// Adds this run to the earlier ones. Nothing is written if no pass chose experts. Returns whether the file is there.
bool write_hot_file(const std::string& path, const HotExperts& now) noexcept;

}  // namespace tandem
