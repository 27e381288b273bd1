// The notes on a device's kernels agree with what lowering chooses.
#include "engine/device/gpu/kernel_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::gpu {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LoweringContext card() {
  LoweringContext context;
  context.family = KernelFamily::simt;
  context.has_row_pieces = [](const sync::Slot*) { return true; };
  context.packed_dot = PackedDot::dp4a;
  context.matrix_units = MatrixUnits::ptx;
  return context;
}

TEST(KernelNotes, name_what_a_card_has_proven) {
  EXPECT_THAT(
      kernel_notes(card()),
      ElementsAre("weights in pieces of rows, rearranged behind their upload",
                  "exact sums, 1 to 8 tokens: groups of 8 rows and 16 runs",
                  "exact sums, 9 tokens and more: tiles of 64 rows and 64 tokens",
                  "8-bit activations, 1 to 4 tokens: groups of 8 rows and 16 runs",
                  "8-bit activations, 5 tokens and more: tiles of 64 rows and 64 tokens on matrix units (mma m16n8k32 "
                  "by PTX)",
                  "8-bit activations: four products of bytes at once (dp4a by PTX)"));
}

TEST(KernelNotes, say_what_a_device_lacks_for_faster_kernels) {
  LoweringContext context = card();
  context.packed_dot = PackedDot::none;
  context.matrix_units = MatrixUnits::none;
  EXPECT_THAT(kernel_notes(context),
              Contains("no tiles of 64 rows and 64 tokens on matrix units (mma m16n8k32 by PTX): "
                       "the device lacks proven matrix units of a kind that the kernel knows"));
  EXPECT_THAT(kernel_notes(context), Contains(HasSubstr("no instruction for four was proven")));
  context.has_row_pieces = {};
  EXPECT_THAT(kernel_notes(context), Contains("exact sums, 1 to 8 tokens: groups of 64 rows and 4 runs"));
  EXPECT_THAT(kernel_notes(context),
              Contains("no groups of 64 rows and 16 runs: the device lacks work-groups of 1,024"));
  context.max_work_group = 1024;
  EXPECT_THAT(kernel_notes(context), Contains("exact sums, 1 to 4 tokens: groups of 64 rows and 16 runs"));
  EXPECT_THAT(kernel_notes(context), Contains("exact sums, 5 to 8 tokens: groups of 64 rows and 4 runs"));
  for (const std::string& note : kernel_notes(context)) EXPECT_THAT(note, Not(HasSubstr("emulated")));
}

// A device that copies weights says so of every slot, whatever its family.
TEST(KernelNotes, of_simd_kernels_are_those_of_panels) {
  LoweringContext context;
  context.has_row_pieces = card().has_row_pieces;
  for (const bool shaders : {false, true}) {
    context.shaders = shaders;
    EXPECT_EQ(kernel_notes(context).front(), "weights in panels of 64 rows, with vectors of 16");
  }
}

TEST(KernelNotes, of_a_processor_name_the_instruction_for_bytes) {
  LoweringContext context;
  context.byte_products = ByteProducts::vpdpbusd;
  context.listed_tokens = 4;
  EXPECT_THAT(kernel_notes(context), Contains(HasSubstr("vpdpbusd")));
  EXPECT_THAT(kernel_notes(context), Contains("passes of 1 to 4 tokens are one launch"));
  EXPECT_THAT(kernel_notes(context), Contains("exact sums, 5 to 8 tokens: work-items of 32 rows"));
  context.shaders = true;
  EXPECT_THAT(kernel_notes(context), Not(Contains(HasSubstr("vpdpbusd"))));
}

}  // namespace
}  // namespace tandem::gpu
