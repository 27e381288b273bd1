// S3: where the end of a text stood before.
//
// A match of length L ends at a place e where the L tokens that end there are the last L of the context. In the context
// a token stands behind e: e <= n - 2. In a record of the history a token of the same record stands behind e.
#pragma once

#include <cstdint>

namespace tandem {

enum class DraftSource {
  none,
  context,     // the text itself: prompt and output so far
  prediction,  // texts given with the request
  history,     // earlier outputs
  calibrated,  // S2
  reused,      // S5
  model,       // a smaller model's choices
};
inline constexpr int kDraftSources = 7;

const char* to_string(DraftSource source);

struct Match {
  DraftSource source = DraftSource::none;
  int32_t length = 0;   // tokens; 0: there is no match
  int64_t record = -1;  // of the history, 0 for the oldest one; -1: no record
  int32_t end = -1;     // the place e, from 0 on, in the context or the record
};

// A match has followers: the tokens behind its places.
enum class Followers {
  once,       // there is one place
  same,       // several places, with the same token behind each
  different,  // several places, with different tokens
};

// Which one of several matches of equal length is meant.
enum class Occurrence {
  last,   // D2: the newest record, and the last place in it or in the context
  first,  // S7: the oldest record, and the first place
};

}  // namespace tandem
