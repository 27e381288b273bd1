#include "engine/device/vulkan/spirv.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "sync/error.h"
#include "sync/parse_number.h"

namespace tandem::vulkan {
namespace {

// Numbers of the instructions that count here.
enum Op : uint32_t {
  kName = 5,
  kCapability = 17,
  kExecutionMode = 16,
  kTypeInt = 21,
  kTypeFloat = 22,
  kSpecConstantTrue = 48,
  kSpecConstantFalse = 49,
  kSpecConstant = 50,
  kSpecConstantComposite = 51,
  kDecorate = 71,
  kMemberDecorate = 72,
  kTypePointer = 32,
};
enum Word : uint32_t {
  kMagic = 0x07230203,
  kCooperativeMatrix = 6022,
  kDecorationSpecId = 1,
  kDecorationBuiltIn = 11,
  kDecorationBinding = 33,
  kDecorationOffset = 35,
  kBuiltInWorkgroupSize = 25,
  kModeLocalSize = 17,
  kStoragePushConstant = 9,
};

// A text of SPIR-V: four bytes a word, the lowest first, up to a zero byte.
std::string text_at(std::span<const uint32_t> words) {
  std::string text;
  for (const uint32_t word : words) {
    for (int byte = 0; byte < 4; ++byte) {
      const char c = static_cast<char>(word >> (8 * byte));
      if (c == '\0') return text;
      text.push_back(c);
    }
  }
  return text;
}

// Facts of single instructions, by result id, before names, types and decorations are brought together.
struct Collected {
  std::map<uint32_t, std::string> names;
  std::map<uint32_t, uint32_t> spec_ids;
  std::map<uint32_t, ConstantType> types, constants;
  std::map<uint32_t, uint32_t> struct_words;  // words up to the last member of a struct, by the struct's id
  std::set<uint32_t> push_structs, group_sizes;
  // A work-group's size that specialisation constants make up.
  bool sized_by_constant = false;
};

// Notes what one instruction says. Ids are numbers, and an instruction may name an id before it is defined. args begin
// behind the instruction's first word. Types and decorations name their own id first; constants name their type first
// and their own id second.
void collect(uint32_t op, std::span<const uint32_t> args, Collected& all, ShaderFacts& facts) {
  auto is = [&](uint32_t wanted, size_t least) { return op == wanted && args.size() >= least; };
  if (is(kCapability, 1) && args[0] == kCooperativeMatrix) facts.has_cooperative_matrices = true;
  if (is(kName, 2)) all.names[args[0]] = text_at(args.subspan(1));
  if (is(kExecutionMode, 5) && args[1] == kModeLocalSize) facts.local_size = {args[2], args[3], args[4]};
  if (is(kTypeInt, 1)) all.types[args[0]] = ConstantType::integer;
  if (is(kTypeFloat, 1)) all.types[args[0]] = ConstantType::real;
  if (is(kTypePointer, 3) && args[1] == kStoragePushConstant) all.push_structs.insert(args[2]);
  if (is(kSpecConstantTrue, 2) || is(kSpecConstantFalse, 2)) all.constants[args[1]] = ConstantType::boolean;
  if (is(kSpecConstant, 2)) all.constants[args[1]] = all.types[args[0]];
  if (is(kSpecConstantComposite, 2) && all.group_sizes.contains(args[1])) all.sized_by_constant = true;
  if (is(kDecorate, 3) && args[1] == kDecorationSpecId) all.spec_ids[args[0]] = args[2];
  if (is(kDecorate, 3) && args[1] == kDecorationBinding) facts.bindings = std::max(facts.bindings, args[2] + 1);
  if (is(kDecorate, 3) && args[1] == kDecorationBuiltIn && args[2] == kBuiltInWorkgroupSize)
    all.group_sizes.insert(args[0]);
  if (is(kMemberDecorate, 4) && args[2] == kDecorationOffset)
    all.struct_words[args[0]] = std::max(all.struct_words[args[0]], args[3] / 4 + 1);
}

}  // namespace

// Walks through all instructions, whose first word holds their length and number. Then joins the facts by id.
ShaderFacts read_facts(std::span<const uint32_t> words, const std::string& object) {
  constexpr size_t kHeaderWords = 5;
  if (words.size() < kHeaderWords || words[0] != kMagic) throw Error("this is no SPIR-V module", object);
  ShaderFacts facts;
  Collected all;
  for (size_t at = kHeaderWords; at < words.size();) {
    const uint32_t length = words[at] >> 16;
    if (length == 0 || at + length > words.size()) throw Error("a SPIR-V module is cut off", object);
    collect(words[at] & 0xffff, words.subspan(at + 1, length - 1), all, facts);
    at += length;
  }
  if (all.sized_by_constant) throw Error("a work-group's size is written as literals, not as constants", object);
  for (const auto& [target, id] : all.spec_ids) facts.constants[all.names[target]] = {id, all.constants[target]};
  for (const auto& [block, length] : all.struct_words) {
    if (all.push_structs.contains(block)) facts.push_words = length;
  }
  return facts;
}

// An empty macro means 1. An integer may be given as int32 or uint32.
uint32_t constant_word(ConstantType type, const std::string& text, const std::string& object) {
  if (text.empty()) return type == ConstantType::real ? std::bit_cast<uint32_t>(1.0f) : 1;
  if (type == ConstantType::real) {
    if (const auto value = parse_number<float>(text)) return std::bit_cast<uint32_t>(*value);
  } else if (const auto value = parse_number<int64_t>(text)) {
    if (type == ConstantType::boolean) return *value != 0 ? 1 : 0;
    if (*value >= INT32_MIN && *value <= static_cast<int64_t>(UINT32_MAX)) return static_cast<uint32_t>(*value);
  }
  throw Error("a specialisation constant cannot be '" + text + "'", object);
}

}  // namespace tandem::vulkan
