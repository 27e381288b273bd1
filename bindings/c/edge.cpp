// Every function of the C interface goes through this file. It turns exceptions into statuses, and passes handles and
// memory to the caller. No exception may cross the edge, because a program in C cannot catch one.
#include "bindings/c/edge.h"

#include <cstdlib>
#include <new>

namespace tandem::bindings {
namespace {

// The parts of the error, copied out of the exception. Each thread has its own, so that one thread never reads
// another's failure.
struct LastError {
  std::string paragraph, what, on, hint;
};
thread_local LastError last_error;

// A text that cannot be kept for want of memory is left out.
void keep(const Error& error) noexcept {
  try {
    last_error = {error.what(), error.failure(), error.object(), error.hint()};
  } catch (const std::bad_alloc&) {
    last_error.paragraph.clear();
  }
}

tandem_status keep_as(const Error& error, tandem_status status) noexcept {
  keep(error);
  return status;
}

// Throws the exception again in order to tell its kind. Kinds that a caller can act upon have statuses of their own,
// and the most special class stands first.
tandem_status status_of_handled() {
  try {
    throw;
  } catch (const UsageError& error) {
    return keep_as(error, TANDEM_USAGE);
  } catch (const FileError& error) {
    return keep_as(error, TANDEM_FILE);
  } catch (const DeviceError& error) {
    return keep_as(error, TANDEM_DEVICE);
  } catch (const ContextError& error) {
    return keep_as(error, TANDEM_CONTEXT);
  } catch (const Error& error) {
    return keep_as(error, TANDEM_FAILED);
  } catch (const Interrupted&) {
    return keep_as(Error("the work was cancelled", "by another thread"), TANDEM_INTERRUPTED);
  } catch (const std::bad_alloc&) {
    return keep_as(Error("there is too little memory", "the work of this call", "Ask for less, or free something"),
                   TANDEM_NO_MEMORY);
  } catch (const std::exception& error) {
    return keep_as(Error("unexpected failure", error.what()), TANDEM_FAILED);
  } catch (...) {
    return keep_as(Error("unexpected failure", "an unknown exception"), TANDEM_FAILED);
  }
}

// All tables draw from one counter, so a handle of one kind is never a valid handle of another kind.
std::atomic<uintptr_t> handles_given = 0;

// The C library's memory, because the caller frees it by tandem_free() and may not know C++. An empty value has an
// address too, so null always means that nothing was written.
void* allocated(size_t bytes) {
  void* const memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

template <typename Value>
Value* copied(std::span<const Value> values) {
  auto* const memory = static_cast<Value*>(allocated(values.size_bytes()));
  if (!values.empty()) std::memcpy(memory, values.data(), values.size_bytes());
  return memory;
}

}  // namespace

uintptr_t next_handle() { return ++handles_given * kHandleStep; }
bool was_given(uintptr_t handle) { return handle % kHandleStep == 0 && handle / kHandleStep <= handles_given; }

// These tables are made at first use and never destroyed. A static object would be destroyed at the end of the program
// while another thread may still make a call.
Handles<TextModel>& models() {
  static auto& table = *new Handles<TextModel>("a model");
  return table;
}
Handles<KeptSequence>& sequences() {
  static auto& table = *new Handles<KeptSequence>("a sequence");
  return table;
}
Handles<Cancel>& cancels() {
  static auto& table = *new Handles<Cancel>("a cancel");
  return table;
}

std::shared_ptr<TextModel> model_of(const tandem_model* handle) {
  return models().get(reinterpret_cast<uintptr_t>(handle));
}
std::shared_ptr<KeptSequence> sequence_of(const tandem_sequence* handle) {
  return sequences().get(reinterpret_cast<uintptr_t>(handle));
}
std::function<bool()> asked_of(const tandem_cancel* handle) {
  if (handle == nullptr) return {};
  return [cancel = cancels().get(reinterpret_cast<uintptr_t>(handle))] { return cancel->is_set.load(); };
}

// Making the texts of an error may lack memory itself.
tandem_status keep_failure() noexcept {
  try {
    return status_of_handled();
  } catch (...) {
    last_error.paragraph.clear();
    return TANDEM_NO_MEMORY;
  }
}

void require_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) throw UsageError("an argument is null", name, "Give the address of a value");
}

// A part of a pointer would be taken for an address.
void require_whole_members(size_t size, const char* failure, const char* hint) {
  if (size % sizeof(size_t) != 0) throw UsageError(failure, std::to_string(size) + " bytes", hint);
}

// A count beyond this limit is a mistake of the caller's, such as a negative number in an unsigned argument.
std::span<const int32_t> ids_of(const int32_t* ids, size_t count) {
  if (count > 0) require_pointer(ids, "ids");
  if (count > size_t{1} << 31)
    throw UsageError("there are too many ids", std::to_string(count), "Give fewer than 2^31");
  return {ids, count};
}

// A text may contain null bytes, so callers get its length too. The byte behind it serves those who print it.
char* given(std::string_view text) {
  auto* const memory = static_cast<char*>(allocated(text.size() + 1));
  text.copy(memory, text.size());
  memory[text.size()] = '\0';
  return memory;
}
int32_t* given(std::span<const int32_t> ids) { return copied(ids); }
float* given(std::span<const float> values) { return copied(values); }

}  // namespace tandem::bindings

const char* tandem_last_error(void) { return tandem::bindings::last_error.paragraph.c_str(); }
const char* tandem_last_error_what(void) { return tandem::bindings::last_error.what.c_str(); }
const char* tandem_last_error_on(void) { return tandem::bindings::last_error.on.c_str(); }
const char* tandem_last_error_hint(void) { return tandem::bindings::last_error.hint.c_str(); }
void tandem_free(void* memory) { std::free(memory); }
