// The names of all storage types that the GGUF format has numbers for. An error names the type of a file that Tandem
// cannot compute with.
#pragma once

#include <cstdint>
#include <span>

namespace tandem {

struct PublishedType {
  uint32_t number;
  const char* name;               // as the format writes it: "MXFP4"
  const char* instead = nullptr;  // of a type that was withdrawn: the one to use
};

std::span<const PublishedType> published_types();           // in the order of their numbers
const PublishedType* published_type(uint32_t gguf_number);  // nullptr: no such number is published

}  // namespace tandem
