#include "engine/run/machine/pack_cache.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "engine/run/machine/hot_file.h"
#include "sync/error.h"
#include "sync/whole_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSuffix = ".packed", *kStampSuffix = ".stamp";

// An unfinished file of this age was left by a process that was killed while it wrote. No program writes for so long.
constexpr auto kAbandoned = std::chrono::hours(1);
constexpr int kMostTries = 3;  // to write a file that other processes remove

void remove_abandoned(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool unfinished = name.find(kSuffix) != std::string::npos && name.find(".part") != std::string::npos;
    if (unfinished && entry.is_regular_file(ignored) &&
        fs::file_time_type::clock::now() - entry.last_write_time(ignored) > kAbandoned)
      fs::remove(entry.path(), ignored);
  }
}

std::string stamp_path(const fs::path& packed) { return packed.string() + kStampSuffix; }

// The content of a file's stamp. Any write to the file makes it false.
std::string text_of(const FileStamp& stamp) {
  return std::to_string(stamp.inode) + " " + std::to_string(stamp.bytes) + " " + std::to_string(stamp.modified_ns) +
         " " + std::to_string(stamp.changed_ns) + "\n";
}

// When a packed file was last used: the stamp's date, or its own if there is no stamp.
fs::file_time_type used(const fs::path& packed) {
  std::error_code no_stamp;
  const auto time = fs::last_write_time(stamp_path(packed), no_stamp);
  return no_stamp ? fs::last_write_time(packed) : time;
}

void remove_packed(const fs::path& packed) {
  std::error_code ignored;
  fs::remove(packed, ignored);
  fs::remove(stamp_path(packed), ignored);
  fs::remove(hot_file_of(packed.string()), ignored);
}

// Removes files other than `own`, those used longest ago first, until the rest has at most `most_bytes`.
void keep_last_used(const std::string& folder, const fs::path& own, uint64_t most_bytes) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  uint64_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != kSuffix || entry.path() == own) continue;
    files.emplace_back(used(entry.path()), entry.path());
    sum += entry.file_size();
  }
  std::ranges::sort(files);
  for (size_t i = 0; i < files.size() && sum > most_bytes; ++i) {
    sum -= fs::file_size(files[i].second);
    remove_packed(files[i].second);
  }
}

// Writes the file's stamp. Another process may replace the file meanwhile, so the file is looked at again behind it. It
// may remove the file too, which then needs no stamp.
void write_stamp(const std::string& packed) {
  for (std::string written; fs::exists(packed);) {
    const std::string text = text_of(stamp_at(packed));
    if (text == written) return;
    write_whole_file(stamp_path(packed), text);
    written = text;
  }
}

}  // namespace

// A file must pass PackedFile::open() and have the content that its stamp says. The stamp's date is set to now.
std::optional<PackedFile> PackCache::find(const std::optional<GgufIdentity>& model,
                                          std::span<const size_t> slot_bytes) noexcept {
  if (!on() || !model) return std::nullopt;
  try {
    const fs::path path = fs::path(folder_) / PackedFile::name(*model);
    std::string why;
    std::optional<PackedFile> file = PackedFile::open(path.string(), *model, slot_bytes, why);
    if (file && read_file_if_there(stamp_path(path)) != text_of(file->stamp())) {
      why = "somebody has written to the file";
      file.reset();
    }
    if (!why.empty()) spdlog::warn("kept packed weights are not used, and made anew: {}: {}", path.string(), why);
    if (!file) {
      wanted_ = Wanted{*model, {slot_bytes.begin(), slot_bytes.end()}};
    } else {
      std::error_code ignored;  // a read-only folder serves as well
      fs::last_write_time(stamp_path(path), fs::file_time_type::clock::now(), ignored);
    }
    return file;
  } catch (const std::exception& error) {
    spdlog::warn("kept packed weights are not used: {}", error.what());
    return std::nullopt;
  }
}

// Every record gets its checksum first. Records have room for it, so no weight changes.
std::optional<PackedFile> PackCache::keep(std::span<const sync::Slot* const> slots,
                                          std::span<const ExpertRecords> records) noexcept {
  if (!wanted_) return std::nullopt;
  try {
    for (const ExpertRecords& each : records)
      for (int64_t e = 0; e < each.count; ++e)
        seal_record({slots[each.slot]->data() + each.offset + static_cast<size_t>(e) * each.bytes, each.bytes},
                    each.layer, e);
    return write([&](PackedFileWriter& file) {
      for (const sync::Slot* slot : slots) file.write({slot->data(), slot->size_bytes()});
    });
  } catch (const std::exception& error) {
    spdlog::warn("packed weights are not kept: {}", error.what());
    return std::nullopt;
  }
}

// Makes room first: removes this model's unusable file, unfinished files, and files that were used longest ago. The
// stamp is written last, so a file without a complete stamp is not used. The file is opened before that: another
// process may replace or remove it at any time, and an open file stays.
PackedFile PackCache::write(const std::function<void(PackedFileWriter&)>& fill) {
  TANDEM_CHECK(wanted_.has_value(), "packed weights that are wanted");
  const Wanted wanted = *std::exchange(wanted_, std::nullopt);
  const uint64_t bytes = PackedFileWriter::file_bytes(wanted.slot_bytes);
  if (bytes > most_bytes_)
    throw Error("packed weights are larger than their folder may be", folder_,
                std::to_string(bytes) + " bytes of " + std::to_string(most_bytes_));
  std::error_code problem;
  fs::create_directories(folder_, problem);
  if (problem)
    throw Error(
        "cannot make a folder for packed weights (" + problem.message() + ")", folder_,
        "Set XDG_CACHE_HOME to a folder that can be written, or name a file: tandem pack -o FILE, then --packed "
        "FILE");
  const std::string path = (fs::path(folder_) / PackedFile::name(wanted.model)).string();
  std::string why;
  // Another process may have written it since find().
  if (!PackedFile::open(path, wanted.model, wanted.slot_bytes, why)) remove_packed(path);
  remove_abandoned(folder_);
  keep_last_used(folder_, path, most_bytes_ - bytes);
  for (int tries = 0; tries < kMostTries; ++tries) {
    PackedFileWriter file(path, wanted.model, wanted.slot_bytes);
    fill(file);
    file.commit();
    std::optional<PackedFile> written = PackedFile::open(path, wanted.model, wanted.slot_bytes, why);
    if (!written) continue;  // another process has removed it at once
    write_stamp(path);
    spdlog::info("packed weights are kept for the next start: {}", path);
    return *std::move(written);
  }
  throw Error("packed weights vanish as soon as they are written" + (why.empty() ? "" : " (" + why + ")"), path,
              "Try again when no other program packs a model into this folder");
}

}  // namespace tandem
