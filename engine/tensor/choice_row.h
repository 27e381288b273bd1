// Where the result of a choice (a token and one of its experts) lies, when static graphs computed some of them.
#pragma once

#include <cstdint>

namespace tandem {

// A choice has a row of the graphs' buffers, or one of these.
inline constexpr int32_t kElsewhere = -1;  // another device computed it: its result lies with the choices'
inline constexpr int32_t kDropped = -2;    // nobody computed it

}  // namespace tandem
