// Reads the facts about a compute shader that binding it needs from its SPIR-V words.
//
// Contract: all functions are pure. object: the subject of errors.
// Source: SPIR-V specification 1.5, sections 2.3 (binary form) and 3 (instructions).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace tandem::vulkan {

enum class ConstantType { boolean, integer, real };  // each has 32 bits in a specialisation

struct SpecConstant {
  uint32_t id = 0;
  ConstantType type = ConstantType::integer;
};

struct ShaderFacts {
  std::map<std::string, SpecConstant> constants;  // by name (OpName: debug names are kept)
  std::array<uint32_t, 3> local_size{1, 1, 1};
  uint32_t bindings = 0;                  // in set 0: the highest binding plus one
  uint32_t push_words = 0;                // 32-bit words of the push constants
  bool has_cooperative_matrices = false;  // of VK_KHR_cooperative_matrix
};

// Error when the words are no SPIR-V module, or when the work-group's size is a specialisation constant.
ShaderFacts read_facts(std::span<const uint32_t> words, const std::string& object);

// The word that a specialisation constant gets for the text of a macro ("32", "-1", "0.5", "" for 1). Error when the
// text is no such number.
uint32_t constant_word(ConstantType type, const std::string& text, const std::string& object);

}  // namespace tandem::vulkan
