// The notes on a device's kernels agree with what lowering chooses.
#include "engine/device/gpu/kernel_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/lower_support.h"

namespace tandem::gpu {
namespace {

using ::testing::Contains;
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
  EXPECT_THAT(kernel_notes(card()),
              ::testing::ElementsAre("weights in pieces of rows, rearranged behind their upload",
                                     "products of 1 to 8 tokens: work-groups of 8 rows",
                                     "products of more tokens: tiles of 64 rows and 64 tokens",
                                     "8-bit activations: four products of bytes at once (dp4a by PTX)",
                                     "8-bit activations of many tokens: matrix units (mma m16n8k32 by PTX)"));
}

TEST(KernelNotes, say_what_is_missing) {
  LoweringContext context = card();
  context.packed_dot = PackedDot::none;
  context.matrix_units = MatrixUnits::none;
  context.has_row_pieces = {};
  const auto notes = kernel_notes(context);
  EXPECT_THAT(notes, Contains(HasSubstr("no instruction for four was proven")));
  EXPECT_THAT(notes, Contains(HasSubstr("no matrix units")));
  EXPECT_THAT(notes, Contains("products of 1 to 8 tokens: work-groups of 64 rows"));
}

// A launch of one token over 128 rows has as many rows in a group as the note says.
TEST(KernelNotes, have_the_sizes_that_lowering_uses) {
  LoweringContext context = card();
  for (const bool pieces : {false, true}) {
    context.has_row_pieces = pieces ? card().has_row_pieces : nullptr;
    KernelLaunch launch;
    set_small_batch_grid(128, 1, pieces, context, launch);
    EXPECT_THAT(kernel_notes(context),
                Contains("products of 1 to 8 tokens: work-groups of " + std::to_string(launch.local[0]) + " rows"));
  }
}

TEST(KernelNotes, of_a_processor_name_the_instruction_for_bytes) {
  LoweringContext context;
  context.byte_products = ByteProducts::vpdpbusd;
  context.listed_tokens = 4;
  EXPECT_THAT(kernel_notes(context), Contains(HasSubstr("vpdpbusd")));
  EXPECT_THAT(kernel_notes(context), Contains("passes of 1 to 4 tokens are one launch"));
  context.shaders = true;
  EXPECT_THAT(kernel_notes(context), Not(Contains(HasSubstr("vpdpbusd"))));
}

}  // namespace
}  // namespace tandem::gpu
