// Reading SPIR-V: the shaders of this build, and words that are no shader.
#include "engine/device/vulkan/spirv.h"

#include <gtest/gtest.h>

#include <bit>

#include "shaders/shaders.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

TEST(Spirv, tells_bindings_push_constants_and_the_group_of_a_shader) {
  const auto words = shader_code("glu_simt", "glu_simt");
  ASSERT_TRUE(words);
  const ShaderFacts facts = read_facts(*words, "glu_simt");
  EXPECT_EQ(facts.bindings, 3u);
  EXPECT_EQ(facts.push_words, 8u);
  EXPECT_EQ(facts.local_size, (std::array<uint32_t, 3>{64, 1, 1}));
  ASSERT_TRUE(facts.constants.contains("ROUND_F16"));
  EXPECT_EQ(facts.constants.at("ROUND_F16").type, ConstantType::integer);
}

TEST(Spirv, reads_every_shader_of_this_build) {
  size_t shaders = 0;
  for (const ShaderName& name : shader_names()) {
    SCOPED_TRACE(std::string(name.source) + " " + std::string(name.kernel));
    const ShaderFacts facts = read_facts(*shader_code(name.source, name.kernel), "shader");
    EXPECT_GE(facts.bindings, 1u);
    EXPECT_GE(facts.push_words, facts.bindings) << "every buffer has an offset";
    EXPECT_LE(facts.push_words, 32u) << "128 bytes of push constants are what every device has";
    ++shaders;
  }
  EXPECT_GT(shaders, 0u);
}

TEST(Spirv, refuses_what_is_no_module_and_one_that_is_cut_off) {
  const auto words = shader_code("probe", "probe_loop");
  ASSERT_TRUE(words);
  std::vector<uint32_t> damaged(words->begin(), words->end());
  EXPECT_THROW(read_facts(std::span(damaged).first(3), "short"), Error);
  EXPECT_THROW(read_facts(std::span(damaged).first(6), "cut"), Error);
  damaged[5] &= 0xffff;  // an instruction with zero words
  EXPECT_THROW(read_facts(damaged, "endless"), Error);
  damaged[0] = 0x03022307;
  EXPECT_THROW(read_facts(damaged, "foreign"), Error);
}

TEST(Spirv, constants_take_the_words_of_their_types) {
  EXPECT_EQ(constant_word(ConstantType::integer, "32", "x"), 32u);
  EXPECT_EQ(constant_word(ConstantType::integer, "-1", "x"), 0xffffffffu);
  EXPECT_EQ(constant_word(ConstantType::integer, "", "x"), 1u);
  EXPECT_EQ(constant_word(ConstantType::boolean, "7", "x"), 1u);
  EXPECT_EQ(constant_word(ConstantType::real, "0.5", "x"), std::bit_cast<uint32_t>(0.5f));
  EXPECT_THROW(constant_word(ConstantType::integer, "32x", "x"), Error);
  EXPECT_THROW(constant_word(ConstantType::integer, "99999999999", "x"), Error);
}

}  // namespace
}  // namespace tandem::vulkan
