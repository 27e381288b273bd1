// The list kernel's generated source and records, as values.
#include "engine/device/opencl/list_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
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
  launch.one_token = true;
  return launch;
}

TEST(CanBeListed, is_said_of_single_work_items_of_one_token) {
  EXPECT_TRUE(can_be_listed(norm_launch()));
  KernelLaunch many = norm_launch();
  many.one_token = false;
  EXPECT_FALSE(can_be_listed(many));
  KernelLaunch group = norm_launch();
  group.local = {4, 1, 1};
  EXPECT_FALSE(can_be_listed(group));
}

// What the kernels share stands once at the head of the list, before any kernel's options: a condition on one of them
// there (it once was TOKENS, and the list's GEMV lost its prefetches) would be false for all.
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

TEST(ListVariants, numbers_what_differs_in_source_options_or_arguments) {
  ListVariants variants;
  EXPECT_EQ(variants.index_of(norm_launch()), 0u);
  KernelLaunch other = norm_launch();
  other.options = "-DHAS_ADD=0 -DROUND_F16=0";
  EXPECT_EQ(variants.index_of(other), 1u);
  EXPECT_EQ(variants.index_of(norm_launch()), 0u) << "known already";
  KernelLaunch arguments = norm_launch();
  arguments.args.pop_back();
  EXPECT_EQ(variants.index_of(arguments), 2u);
  EXPECT_EQ(variants.size(), 3u);
}

TEST(ListVariants, give_every_variant_names_and_macros_of_its_own) {
  ListVariants variants;
  variants.index_of(norm_launch());
  KernelLaunch other = norm_launch();
  other.options = "-DHAS_ADD=0";
  variants.index_of(other);
  const uint64_t both[] = {0, 1};
  const std::string source = variants.source(both);
  EXPECT_THAT(source, HasSubstr("#define HAS_ADD 1\n"));
  EXPECT_THAT(source, HasSubstr("#define rms_norm_simd rms_norm_simd_v0\n"));
  EXPECT_THAT(source, HasSubstr("#undef HAS_ADD\n"));
  EXPECT_THAT(source, HasSubstr("#define HAS_ADD 0\n"));
  EXPECT_THAT(source, HasSubstr("INLINE void rms_norm_simd(const size_t *work_item, BUFFER(x)"));
  EXPECT_THAT(source, ::testing::Not(HasSubstr("__kernel")));
  EXPECT_THAT(source, HasSubstr("rms_norm_simd_v1(work_item, (__global uchar *)(size_t)a[0], a[1], (int)a[2], "
                                "as_float((uint)a[3]), a[4]); break;"));
}

TEST(ListVariants, leave_out_what_a_list_does_not_use) {
  ListVariants variants;
  variants.index_of(norm_launch());
  KernelLaunch other = norm_launch();
  other.options = "-DHAS_ADD=0";
  const uint64_t second[] = {variants.index_of(other)};
  const std::string source = variants.source(second);
  EXPECT_THAT(source, HasSubstr("case 1:"));
  EXPECT_THAT(source, ::testing::Not(HasSubstr("case 0:")));
  EXPECT_THAT(source, ::testing::Not(HasSubstr("_v0")));
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
