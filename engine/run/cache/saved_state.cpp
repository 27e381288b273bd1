#include "engine/run/cache/saved_state.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/model/hash.h"
#include "sync/error.h"
#include "sync/json_text.h"
#include "sync/output_file.h"

namespace tandem {
namespace {

constexpr uint64_t kMagic = 0x45544154534d4454;  // "TDMSTATE"
constexpr uint64_t kVersion = 3;
struct Header {
  uint64_t magic = kMagic, version = kVersion, description_bytes = 0, tokens = 0;
};

size_t aligned(size_t offset) { return (offset + 63) / 64 * 64; }

template <typename T>
std::span<const std::byte> bytes_of(const T* first, size_t count) {
  return std::as_bytes(std::span(first, count));
}

// Calls each(first byte, number of bytes) for all pages, in the order of the file.
template <typename Each>
void for_each_page(std::span<const KvCache> caches, std::span<const int32_t> pages, const Each& each) {
  const auto of_heads = [&](const KvCache& cache, const Operand& heads, int64_t width) {
    const size_t bytes = cache.page_bytes(width);
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      auto* first = heads.as<std::byte>() + static_cast<size_t>(head) * cache.head_bytes(width);
      for (const int32_t page : pages) each(first + static_cast<size_t>(page) * bytes, bytes);
    }
  };
  for (const KvCache& cache : caches) {
    of_heads(cache, cache.k, cache.head_dim);
    of_heads(cache, cache.v, cache.head_dim_v);
  }
}

// A file that computes the checksum of its bytes piece by piece, and ends with it.
class SummedFile {
 public:
  SummedFile(const std::string& path, WhileUnread while_unread) : file_(path, std::move(while_unread)) {}
  void write(std::span<const std::byte> piece) {
    sum_ = hash_much(piece, sum_);
    file_.write(piece);
  }
  void commit() {
    file_.write(bytes_of(&sum_, 1));
    file_.commit();
  }

 private:
  OutputFile file_;
  uint64_t sum_ = 0;
};

// Hash of a model's header and of the beginning of every tensor. Two models of one shape differ there.
uint64_t hash_of(const GgufFile& file) {
  constexpr size_t kBytesOfTensor = 256;
  const auto identity = file.identity();
  uint64_t hash = identity ? identity->header_hash : 0;
  for (const GgufTensor& tensor : file.tensors())
    hash = hash_bytes({tensor.data, std::min(tensor.bytes, kBytesOfTensor)}, hash);
  return hash;
}

// A value of a description as text. A damaged file may have a long one.
std::string shown(const nlohmann::json& value) {
  constexpr size_t kMostShown = 100;  // bytes
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kMostShown ? text : text.substr(0, kMostShown) + " ...";
}

}  // namespace

// Everything on which the meaning of the saved bytes depends. Loading compares it key by key, so that an error can name
// the difference.
std::string describe_state(const GgufFile& file, const ModelConfig& config, KvType kv_type, const char* act) {
  const nlohmann::json description = {{"model", config.name},
                                      {"hash", hash_of(file)},
                                      {"cache_type", kv_type == KvType::f16 ? "f16" : "f32"},
                                      {"act", act},
                                      {"layers", config.layers},
                                      {"kv_heads", config.kv_heads},
                                      {"head_dim", config.head_dim},
                                      {"head_dim_v", config.head_dim_v},
                                      {"page", kCachePage}};
  return description.dump();
}

// The file has a header, the description, the ids of the tokens, zeros up to a multiple of 64 bytes, all pages, and
// a checksum.
void save_state(const std::string& path, const std::string& description, std::span<const int32_t> ids,
                std::span<const KvCache> caches, std::span<const int32_t> pages, WhileUnread while_unread) {
  TANDEM_CHECK(std::ssize(pages) == pages_of(std::ssize(ids)), "pages of a text");
  Header header;
  header.description_bytes = description.size();
  header.tokens = ids.size();
  std::vector<std::byte> begin;
  const auto add = [&begin](std::span<const std::byte> bytes) {
    begin.insert(begin.end(), bytes.begin(), bytes.end());
  };
  add(bytes_of(&header, 1));
  add(bytes_of(description.data(), description.size()));
  add(std::as_bytes(ids));
  begin.resize(aligned(begin.size()));
  SummedFile file(path, std::move(while_unread));
  file.write(begin);
  for_each_page(caches, pages, [&](const std::byte* page, size_t bytes) { file.write({page, bytes}); });
  file.commit();
}

// Checks header, lengths and description before it trusts any of them. The pages are checked in copy_to(), which knows
// how many bytes they have.
SavedState::SavedState(const std::string& path, const std::string& description)
    : path_(path), file_(FileMapping::open(path)) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    file_.require_unchanged();  // a changed file is the better reason
    throw Error(what, path_, hint);
  };
  const std::span<const std::byte> bytes = file_.bytes();
  Header header;
  if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (bytes.size() < sizeof header || header.magic != kMagic)
    refuse("the file is no saved state", "Name one that --save-state has written");
  if (header.version != kVersion)
    refuse("the saved state has another version",
           "It is " + std::to_string(header.version) + "; this program reads " + std::to_string(kVersion));
  const size_t room = bytes.size() - sizeof header;
  const std::string cut = "Save it again";
  // A division instead of a product: a damaged number of tokens could overflow the product.
  if (header.description_bytes > room || header.tokens > (room - header.description_bytes) / sizeof(int32_t))
    refuse("the saved state is cut", cut);
  const auto* text = reinterpret_cast<const char*>(bytes.data() + sizeof header);
  const nlohmann::json made_by = parse_json({text, header.description_bytes});
  if (!made_by.is_object()) refuse("the saved state has no description", cut);
  const nlohmann::json wanted = nlohmann::json::parse(description);
  for (const auto& [key, value] : wanted.items()) {
    const nlohmann::json had = made_by.contains(key) ? made_by.at(key) : nlohmann::json();
    if (had != value)
      refuse("the saved state is of another kind: its " + key + " is " + shown(had) + ", here it is " + value.dump(),
             "Load it with the model and the flags that it was saved with");
  }
  ids_.resize(header.tokens);
  if (!ids_.empty())
    std::memcpy(ids_.data(), bytes.data() + sizeof header + header.description_bytes, ids_.size() * sizeof(int32_t));
  begin_ = aligned(sizeof header + header.description_bytes + ids_.size() * sizeof(int32_t));
}

// The length must be exact, and the checksum is tested first. Until then no page of the cache has changed.
void SavedState::copy_to(std::span<const KvCache> caches, std::span<const int32_t> pages) const {
  TANDEM_CHECK(std::ssize(pages) == pages_of(std::ssize(ids_)), "pages of a text");
  size_t wanted = begin_ + sizeof(uint64_t);
  for_each_page(caches, pages, [&](const std::byte*, size_t bytes) { wanted += bytes; });
  if (file_.bytes().size() != wanted)
    throw Error(file_.bytes().size() < wanted ? "the saved state is cut" : "the saved state has grown", path_,
                std::to_string(file_.bytes().size()) + " bytes of " + std::to_string(wanted) + "; save it again");
  require_sum(caches, pages);
  const std::byte* from = file_.bytes().data() + begin_;
  for_each_page(caches, pages, [&](std::byte* page, size_t bytes) {
    std::memcpy(page, from, bytes);
    from += bytes;
  });
  file_.require_unchanged();
}

// Checks the checksum before anything is copied, so that a damaged file overwrites no page.
void SavedState::require_sum(std::span<const KvCache> caches, std::span<const int32_t> pages) const {
  std::span<const std::byte> rest = file_.bytes();
  uint64_t sum = 0, saved = 0;
  const auto add = [&](size_t bytes) {
    sum = hash_much(rest.first(bytes), sum);
    rest = rest.subspan(bytes);
  };
  add(begin_);
  for_each_page(caches, pages, [&](const std::byte*, size_t bytes) { add(bytes); });
  std::memcpy(&saved, rest.data(), sizeof saved);
  file_.require_unchanged();
  if (sum != saved) throw Error("the saved state is damaged: its checksum is another", path_, "Save it again");
}

}  // namespace tandem
