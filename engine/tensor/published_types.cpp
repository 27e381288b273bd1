#include "engine/tensor/published_types.h"

#include <algorithm>

namespace tandem {
namespace {

// GGMLQuantizationType of the package gguf (0.19.0), and the numbers that it lists no longer or not yet. 4 and 5 had
// blocks of 16 values. 31 to 33 and 36 to 38 were Q4_0 and IQ4_NL in the order of one processor's registers. Today
// programs rearrange values into that order when they load them.
constexpr PublishedType kPublished[] = {
    {0, "F32"},
    {1, "F16"},
    {2, "Q4_0"},
    {3, "Q4_1"},
    {4, "Q4_2", "Q4_0"},
    {5, "Q4_3", "Q4_1"},
    {6, "Q5_0"},
    {7, "Q5_1"},
    {8, "Q8_0"},
    {9, "Q8_1"},
    {10, "Q2_K"},
    {11, "Q3_K"},
    {12, "Q4_K"},
    {13, "Q5_K"},
    {14, "Q6_K"},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64"},
    {29, "IQ1_M"},
    {30, "BF16"},
    {31, "Q4_0_4_4", "Q4_0"},
    {32, "Q4_0_4_8", "Q4_0"},
    {33, "Q4_0_8_8", "Q4_0"},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {36, "IQ4_NL_4_4", "IQ4_NL"},
    {37, "IQ4_NL_4_8", "IQ4_NL"},
    {38, "IQ4_NL_8_8", "IQ4_NL"},
    {39, "MXFP4"},
    {40, "NVFP4"},
    {41, "Q1_0"},
    {42, "Q2_0"},
};

}  // namespace

std::span<const PublishedType> published_types() { return kPublished; }

// The list names numbers that Tandem does not read, so that messages can say what a file has.
const PublishedType* published_type(uint32_t gguf_number) {
  const auto* found = std::ranges::find(kPublished, gguf_number, &PublishedType::number);
  return found == std::end(kPublished) ? nullptr : found;
}

}  // namespace tandem
