// A class of operators whose times have something in common, at some level of detail.
//
// From the broadest level to the finest: all operators; a kind ("matmul"); a format of weights, or attention whose
// scores have a soft cap; a number of tokens; for few tokens, whether another device reads memory too; and last the
// bytes of the weights or the positions before an attention. A class has text only in files: "matmul i4 S4 beside 4^9".
//
// Contract: a value; pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/device/operator.h"

namespace tandem {

// An operator, and the circumstances that its time depends on. past: positions before its first token, for attention.
struct TimedOperator {
  const Operator& op;
  int64_t past = 0;
  bool beside = false;  // another device is at work
};

struct OperatorClass {
  std::string kind{};      // empty: all operators
  std::string format{};    // of packed weights; empty: any, or none
  bool capped = false;     // attention whose scores have a soft cap
  uint64_t tokens = 0;     // rounded up to a power of two; 0: any number
  bool beside = false;     // another device reads memory too; only for few tokens
  int64_t size = -1;       // bytes of the weights, as a power of four; -1: any
  int64_t positions = -1;  // before an attention, rounded up to a power of two; below 128: 0; -1: any

  auto operator<=>(const OperatorClass&) const = default;
  bool broaden();                   // becomes the class of the level above; false: this is the class of all operators
  OperatorClass of_tokens() const;  // this class, or the class above it that is no finer than a number of tokens
  static std::optional<OperatorClass> named(std::string_view text);  // nothing: no class has this text
};
std::string to_string(const OperatorClass& operators);

OperatorClass class_of(const TimedOperator& timed);  // the finest

// The next power of two, at least 1. Classes have counts in this form.
uint64_t up_to(int64_t count);

}  // namespace tandem
