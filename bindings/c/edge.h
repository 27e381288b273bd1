// The edge of the C interface: handles in, statuses out, and no exception beyond it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/c/handles.h"
#include "bindings/text_model.h"
#include "tandem/tandem.h"

namespace tandem::bindings {

struct Cancel {
  std::atomic<bool> is_set = false;
};
// A sequence with the logits that its last extension left.
struct KeptSequence {
  std::shared_ptr<TextSequence> text;
  KeptLogits logits;
};

// The tables live until the process has ended, because other threads may still call then.
Handles<TextModel>& models();
Handles<KeptSequence>& sequences();
Handles<Cancel>& cancels();

std::shared_ptr<TextModel> model_of(const tandem_model* handle);
std::shared_ptr<KeptSequence> sequence_of(const tandem_sequence* handle);
// Asked between passes whether the cancel is set; null handle: never.
std::function<bool()> asked_of(const tandem_cancel* handle);

// Keeps the exception that is being handled as the thread's last error. Returns its status.
tandem_status keep_failure() noexcept;

// Runs a function of the interface.
template <typename Work>
tandem_status guarded(const Work& work) noexcept {
  try {
    work();
    return TANDEM_OK;
  } catch (...) {
    return keep_failure();
  }
}

// UsageError: the pointer is null.
void require_pointer(const void* pointer, const char* name);
std::span<const int32_t> ids_of(const int32_t* ids, size_t count);
// Memory for the caller, freed by tandem_free(). std::bad_alloc.
char* given(std::string_view text);  // with a null byte behind it
int32_t* given(std::span<const int32_t> ids);
float* given(std::span<const float> values);

// UsageError: a structure of this size is not one of any header. Each has a pointer-sized member first, so its size is
// a multiple of that, and no such multiple lies within a member.
void require_whole_members(size_t size, const char* failure, const char* hint);

// The caller's options, which may be of an older header: members that it lacks have their defaults.
template <typename Options>
Options options_of(const Options* asked, void (*init)(Options*, size_t)) {
  Options all;
  init(&all, sizeof all);
  if (asked == nullptr) return all;
  constexpr const char *kFailure = "an option structure has the wrong size",
                       *kHint = "Call its init function first; a larger one needs a newer library";
  const size_t size = asked->size;
  if (size < sizeof(size_t) || size > sizeof all) throw UsageError(kFailure, std::to_string(size) + " bytes", kHint);
  require_whole_members(size, kFailure, kHint);
  std::memcpy(&all, asked, size);
  return all;
}

// Writes the defaults into a structure of the caller's size, which may be smaller than ours.
template <typename Options>
void fill(Options* options, size_t size, Options defaults) noexcept {
  if (options == nullptr || size < sizeof(size_t)) return;
  defaults.size = size < sizeof defaults ? size : sizeof defaults;
  std::memcpy(options, &defaults, defaults.size);
}

}  // namespace tandem::bindings
