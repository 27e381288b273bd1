// Names of all storage types that have numbers in the GGUF format. Errors use them for types that Tandem cannot
// compute with.
#pragma once

#include <cstdint>
#include <span>

namespace tandem {

struct PublishedType {
  uint32_t number;
  const char* name;               // as the format writes it: "MXFP4"
  const char* instead = nullptr;  // for a withdrawn type: its replacement
};

std::span<const PublishedType> published_types();           // in the order of their numbers
const PublishedType* published_type(uint32_t gguf_number);  // nullptr: no such number is published

}  // namespace tandem
