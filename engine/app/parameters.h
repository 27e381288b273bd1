// Numbers that a user passes to a command. Each has one range and one reader, whether it comes from a flag, the
// environment or a line of JSON.
//
// Contract: readers are pure, except for a drawn seed. They take the whole text of a number, without blanks, a plus
// sign or hexadecimal digits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "engine/run/engine.h"
#include "tandem/generate.h"

namespace tandem::app {

struct WholeRange {
  int64_t least = 0, most = 0;
};
std::optional<int64_t> read_whole(std::string_view text, const WholeRange& range);
std::string to_string(const WholeRange& range);  // "a whole number from 0 to 4096"

// A decimal number, with a fraction or an exponent: "0.5", "1e-3". Infinities and "nan" are refused.
std::optional<double> read_number(std::string_view text, double least, double most);

inline constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();
inline constexpr WholeRange kTokensRange{0, kMostTokens};
inline constexpr WholeRange kPredictRange{-1, kMostTokens};  // -1: until the model ends or the context is full
inline constexpr WholeRange kThreadsRange{0, 4096};
inline constexpr WholeRange kTopKRange{0, std::numeric_limits<int>::max()};
inline constexpr WholeRange kParallelRange{1, kMostSequences};

struct Seed {
  uint64_t value = 0;
  bool is_drawn = false;  // the user did not choose it, so it must be shown for a second equal run
};
inline constexpr const char* kSeedRange = "a whole number from 0 to 18446744073709551615, or -1 for a random one";
std::optional<Seed> read_seed(std::string_view text);
// "seed 7 (drawn: --seed 7 gives the same again)"; "" if the user chose it.
std::string describe_drawn(const Seed& seed);

// A count or a number of bytes in the unit that leaves digits before the point: "1.24 B", "134.5 M", "260 K", "87".
// Units are thousands: K, M, B (or G, for bytes), T.
std::string in_thousands(double count, const char* billions = "B");

}  // namespace tandem::app
