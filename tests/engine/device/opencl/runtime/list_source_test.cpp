// The list kernel's generated source and records, as values.
#include "engine/device/opencl/list_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>
#include <sstream>

#include "engine/device/opencl/program_cache.h"

namespace tandem::opencl {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

KernelLaunch norm_launch() {
  KernelLaunch launch;
  launch.source = launch.kernel = "rms_norm_simd";
  launch.options = "-DHAS_ADD=1 -DROUND_F16=0";
  launch.args = {BufferArg{}, int32_t{-3}, 1.5f, uint64_t{1} << 40};
  launch.global = {7, 2, 1};
  launch.tokens = 1;
  return launch;
}

TEST(CanBeListed, is_said_of_single_work_items_of_as_many_tokens_as_lists_take) {
  EXPECT_TRUE(can_be_listed(norm_launch(), 1));
  KernelLaunch several = norm_launch();
  several.tokens = 5;
  EXPECT_FALSE(can_be_listed(several, 1));
  EXPECT_FALSE(can_be_listed(several, 4));
  EXPECT_TRUE(can_be_listed(several, 5));
  KernelLaunch group = norm_launch();
  group.local = {4, 1, 1};
  EXPECT_FALSE(can_be_listed(group, 5));
}

// The source that kernels share stands once at the head of the list, before the options of any kernel. A condition on
// an option would be false there for all kernels. It once named TOKENS, and the list's GEMV lost its prefetches.
TEST(CommonSource, asks_for_no_option_of_a_kernel) {
  std::istringstream lines(expand_source("common"));
  int conditions = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#if")) continue;
    ++conditions;
    EXPECT_THAT(line, AnyOf(HasSubstr("__clang__"), HasSubstr("HAS_PREFETCH"))) << "only what holds for all kernels";
  }
  EXPECT_GT(conditions, 0);
}

TEST(DefinedNames, are_the_functions_types_and_macros_of_a_source) {
  const DefinedNames names = defined_names(
      "#define WIDTH 16\n#ifdef WIDTH\n#define TWICE(x) (2 * (x))\n#endif\ntypedef struct {\n  float a;\n} Pair;\n"
      "INLINE float16 first(const Pair *p) {\n  return call(p);\n}\n__kernel void entry(BUFFER(x), const int n) {}\n");
  EXPECT_THAT(names.functions, ElementsAre("Pair", "first", "entry"));
  EXPECT_THAT(names.macros, ElementsAre("WIDTH", "TWICE"));
}

// A type may be a macro in one variant and a struct in another one.
TEST(DefinedNames, leave_out_functions_that_variant_name_names_and_no_others) {
  const DefinedNames names = defined_names(
      "#define VARIANT_NAME(name, tokens) name##tokens\n#ifdef WIDE\n#define Sum int16\n#else\ntypedef struct {\n"
      "  int16 a;\n} Sum;\n#endif\nINLINE void VARIANT_NAME(add, 8)(Sum *sum) {}\n");
  EXPECT_THAT(names.functions, ElementsAre("Sum"));
  EXPECT_THAT(names.macros, ElementsAre("VARIANT_NAME", "Sum"));
}

KernelLaunch other_launch() {
  KernelLaunch launch = norm_launch();
  launch.options = "-DHAS_ADD=0";
  return launch;
}

TEST(ListVariants, numbers_what_differs_in_source_options_or_arguments) {
  ListVariants variants;
  const uint64_t number = variants.number_of(norm_launch());
  KernelLaunch arguments = norm_launch();
  arguments.args.pop_back();
  const std::set<uint64_t> all = {number, variants.number_of(other_launch()), variants.number_of(arguments)};
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(variants.number_of(norm_launch()), number) << "known already";
  EXPECT_EQ(variants.size(), 3u);
}

// Otherwise each process would compile again what an earlier process compiled.
TEST(ListVariants, of_one_set_have_one_source_whatever_else_was_seen_before) {
  ListVariants one, another;
  const uint64_t alone[] = {one.number_of(norm_launch())};
  another.number_of(other_launch());
  const uint64_t second[] = {another.number_of(norm_launch())};
  EXPECT_EQ(one.source(alone), another.source(second));
}

TEST(ListVariants, give_every_variant_names_and_macros_of_its_own) {
  ListVariants variants;
  const uint64_t first = variants.number_of(norm_launch()), second = variants.number_of(other_launch());
  const std::string source = variants.source(std::array{first, second});
  EXPECT_THAT(source, HasSubstr("#define HAS_ADD 1\n"));
  EXPECT_THAT(source, HasSubstr("#define rms_norm_simd rms_norm_simd_v" + std::to_string(first) + "\n"));
  EXPECT_THAT(source, HasSubstr("#undef HAS_ADD\n"));
  EXPECT_THAT(source, HasSubstr("#define HAS_ADD 0\n"));
  EXPECT_THAT(source, HasSubstr("INLINE void rms_norm_simd(const size_t *work_item, BUFFER(x)"));
  EXPECT_THAT(source, ::testing::Not(HasSubstr("__kernel")));
  EXPECT_THAT(source, HasSubstr("rms_norm_simd_v" + std::to_string(second) +
                                "(work_item, (__global uchar *)(size_t)a[0], a[1], (int)a[2], "
                                "as_float((uint)a[3]), a[4]); break;"));
}

TEST(ListVariants, leave_out_what_a_list_does_not_use) {
  ListVariants variants;
  const std::string left_out = std::to_string(variants.number_of(norm_launch()));
  const uint64_t used = variants.number_of(other_launch());
  const std::string source = variants.source(std::array{used});
  EXPECT_THAT(source, HasSubstr("case " + std::to_string(used) + "UL:"));
  EXPECT_THAT(source, ::testing::Not(HasSubstr(left_out)));
}

TEST(Records, of_waits_and_signals_hold_the_flags_line_and_the_epoch_and_are_five_words_long) {
  sync::Pool pool;
  sync::FlagBank bank(pool, 2, "flags");
  const sync::Flag in = bank.make("in"), out = bank.make("out");
  std::vector<uint64_t> records;
  append_wait({in, 7}, 3, records);
  append_signal({out, 9}, records);
  constexpr uint64_t kSignal = ~uint64_t{0} - 2, kWait = ~uint64_t{0} - 1;
  EXPECT_THAT(records, ElementsAre(kWait, reinterpret_cast<uintptr_t>(&in.line()), 7, 3, 5, kSignal,
                                   reinterpret_cast<uintptr_t>(&out.line()), 9, 0, 5));
}

TEST(Records, hold_variant_sizes_length_and_arguments) {
  sync::Pool pool;
  const sync::Slot& slot = pool.acquire(4096, sync::SlotUse::activations, "x");
  KernelLaunch launch = norm_launch();
  launch.args[0] = BufferArg{{&slot, 128}};
  std::vector<uint64_t> records;
  append_record(launch, 5, records);
  append_end(records);
  EXPECT_THAT(records, ElementsAre(5, 7, 2, 1, 10, reinterpret_cast<uintptr_t>(slot.data()), 128, uint32_t(-3),
                                   std::bit_cast<uint32_t>(1.5f), uint64_t{1} << 40, ~uint64_t{0}));
}

}  // namespace
}  // namespace tandem::opencl
