// Sequences of tokens for callers in C.
#include <utility>

#include "bindings/c/text_calls.h"

using namespace tandem::bindings;

namespace tandem::bindings {
namespace {

// The handle owns the sequence together with room for its last logits, which the caller reads without a copy.
tandem_sequence* handle_of(std::shared_ptr<TextSequence> text) {
  auto kept = std::make_shared<KeptSequence>();
  kept->text = std::move(text);
  return reinterpret_cast<tandem_sequence*>(sequences().add(std::move(kept)));
}

}  // namespace
}  // namespace tandem::bindings

tandem_status tandem_sequence_new(tandem_model* model, tandem_sequence** sequence) {
  return guarded([&] {
    require_pointer(sequence, "sequence");
    *sequence = handle_of(std::make_shared<TextSequence>(model_of(model)));
  });
}

// The sequence gives its pages back between two passes, so this call does not wait for a pass.
tandem_status tandem_sequence_free(tandem_sequence* sequence) {
  return guarded([&] { sequences().remove(reinterpret_cast<uintptr_t>(sequence)); });
}

// The logits belong to the sequence. They stay until its next extension or its end, as the header says. They change
// only while this call has its turn, so a call that is refused leaves them as they were.
tandem_status tandem_sequence_extend(tandem_sequence* sequence, const int32_t* ids, size_t count, tandem_cancel* cancel,
                                     const float** logits) {
  return guarded([&] {
    const auto of = sequence_of(sequence);
    const KeptLogits last = of->text->extend(ids_of(ids, count), {asked_of(cancel)}, &of->logits);
    if (logits != nullptr) *logits = last.values.data();
  });
}

tandem_status tandem_sequence_fork(tandem_sequence* sequence, int64_t position, tandem_sequence** fork) {
  return guarded([&] {
    require_pointer(fork, "fork");
    *fork = handle_of(sequence_of(sequence)->text->fork(position));
  });
}

tandem_status tandem_sequence_rewind(tandem_sequence* sequence, int64_t position) {
  return guarded([&] { sequence_of(sequence)->text->rewind(position); });
}

tandem_status tandem_sequence_position(tandem_sequence* sequence, int64_t* position) {
  return guarded([&] {
    require_pointer(position, "position");
    *position = sequence_of(sequence)->text->position();
  });
}

// The caller owns a copy of the ids, because a later call may change those of the sequence.
tandem_status tandem_sequence_ids(tandem_sequence* sequence, int32_t** ids, size_t* count) {
  return guarded([&] {
    require_pointer(ids, "ids");
    require_pointer(count, "count");
    const std::vector<int32_t> all = sequence_of(sequence)->text->ids();
    *ids = given(all);
    *count = all.size();
  });
}

// The prompt is what stands behind the sequence's own tokens, which are not run again.
tandem_status tandem_sequence_generate(tandem_sequence* sequence, const int32_t* ids, size_t count,
                                       const tandem_generate_options* options, tandem_on_piece on_piece, void* user,
                                       tandem_generation* generation) {
  return guarded([&] {
    const auto of = sequence_of(sequence);
    write_text(*of->text->model(), options, on_piece, user, generation,
               [&](tandem::GenerateOptions all) { return of->text->write(ids_of(ids, count), std::move(all)); });
  });
}

tandem_status tandem_sequence_save(tandem_sequence* sequence, const char* path) {
  return guarded([&] {
    require_pointer(path, "path");
    sequence_of(sequence)->text->save(path);
  });
}

// A saved file fits one model and one format of the cache. A file that does not fit is refused before the handle
// is made.
tandem_status tandem_sequence_load(tandem_model* model, const char* path, tandem_sequence** sequence) {
  return guarded([&] {
    require_pointer(path, "path");
    require_pointer(sequence, "sequence");
    *sequence = handle_of(TextSequence::load(model_of(model), path));
  });
}
