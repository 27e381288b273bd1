#include "engine/model/layer_names.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(LayerNames, say_the_layer_and_what_is_in_it) {
  EXPECT_EQ(layer_of("blk.3.attn_q.weight"), 3);
  EXPECT_EQ(layer_of("blk.120.ffn_up"), 120);
  EXPECT_EQ(name_in_layer("blk.3.attn_q.weight"), "attn_q.weight");
  EXPECT_EQ(name_in_layer("blk.120.ffn_up"), "ffn_up");
}

TEST(LayerNames, of_what_belongs_to_no_layer_are_whole) {
  for (const char* name :
       {"output_norm.weight", "blk", "blk.", "blk.x.attn_q", "blk.3", "blk.-1.attn_q", "my.blk.3.x"}) {
    EXPECT_EQ(layer_of(name), std::nullopt) << name;
    EXPECT_EQ(name_in_layer(name), name);
  }
}

}  // namespace
}  // namespace tandem
