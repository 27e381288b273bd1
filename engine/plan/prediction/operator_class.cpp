#include "engine/plan/prediction/operator_class.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/plan/prediction/class_text.h"
#include "engine/plan/prediction/matmul_point.h"

namespace tandem {
namespace {

// Up to this number of tokens, reading its weights may limit a matmul.
constexpr int64_t kFewest = 8;
constexpr const char* kAll = "all";

}  // namespace

// Counts are classed by powers of two, rounded up.
uint64_t up_to(int64_t count) { return std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, count))); }

// Forgets the finest field that is set. Their order is that of the levels.
bool OperatorClass::broaden() {
  if (positions >= 0)
    positions = -1;
  else if (size >= 0)
    size = -1;
  else if (beside)
    beside = false;
  else if (tokens > 0)
    tokens = 0;
  else if (capped)
    capped = false;
  else if (!format.empty())
    format.clear();
  else
    return !std::exchange(kind, "").empty();
  return true;
}

// The class of all operators of this kind with so many tokens, whatever their size and place.
OperatorClass OperatorClass::of_tokens() const {
  OperatorClass broad = *this;
  broad.positions = broad.size = -1;
  broad.beside = false;
  return broad;
}

// The text names a class in files of measurements, so it must not change.
std::string to_string(const OperatorClass& operators) {
  if (operators.kind.empty()) return kAll;
  std::string text = operators.kind;
  if (!operators.format.empty()) text += " " + operators.format;
  if (operators.capped) text += " capped";
  if (operators.tokens > 0) text += " S" + std::to_string(operators.tokens);
  if (operators.beside) text += " beside";
  if (operators.size >= 0) text += " 4^" + std::to_string(operators.size);
  if (operators.positions >= 0) text += " from " + std::to_string(operators.positions);
  return text;
}

// Reads the fields in the order in which they are written. Only text that would be written like this is a class.
std::optional<OperatorClass> OperatorClass::named(std::string_view text) {
  if (text == kAll) return OperatorClass();
  ClassText words(text);
  OperatorClass read;
  read.kind = words.word();
  const bool is_field = words.is("capped") || words.is("beside") || words.is("from") || words.begins("S");
  if (!is_field) read.format = words.word();
  read.capped = words.take("capped");
  read.tokens = static_cast<uint64_t>(words.number("S").value_or(0));
  read.beside = words.take("beside");
  read.size = words.number("4^").value_or(-1);
  if (words.take("from")) read.positions = words.number("").value_or(-1);
  return to_string(read) == text ? std::optional(read) : std::nullopt;
}

// The finest class of an operator. Sizes are classed by powers of four, since a rate changes slowly with them. A pass
// of few tokens is bound by memory, which work beside it shares.
OperatorClass class_of(const TimedOperator& timed) {
  const int64_t S = tokens_of(timed.op);
  OperatorClass finest;
  finest.kind = kind_name(timed.op);
  finest.tokens = up_to(S);
  if (const auto* matmul = std::get_if<MatMul>(&timed.op.body)) {
    const MatMulPoint point = point_of(*matmul);
    finest.format = point.format;
    finest.beside = S <= kFewest && timed.beside;
    finest.size = static_cast<int64_t>(std::log2(weight_bytes(point)) / 2);
  } else if (const auto* grouped = std::get_if<GroupedMatMul>(&timed.op.body)) {
    finest.format = to_string(grouped->w.format) + (grouped->act_i8 ? ".act8" : "");
  } else if (const auto* attention = std::get_if<Attention>(&timed.op.body)) {
    finest.capped = attention->score.soft_cap > 0;
    finest.positions = timed.past < 128 ? 0 : static_cast<int64_t>(up_to(timed.past));
  }
  return finest;
}

}  // namespace tandem
