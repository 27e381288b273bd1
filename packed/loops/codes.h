// How loops take the codes of a packed format (packed/format.h). They choose once for a panel, so that inner loops have
// no branches.
//
// Contract: constants alone. Files that are compiled for instructions that the machine may lack include this one, so it
//   has no functions.
#pragma once

namespace tandem {

// Bytes are numbers, nibbles are numbers, or nibbles are places in a code book.
enum class Codes { bytes, nibbles, book };
template <Codes kCodes>
constexpr bool kFourBits = kCodes != Codes::bytes;

}  // namespace tandem
