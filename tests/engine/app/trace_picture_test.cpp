#include "engine/app/trace_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run/pass/timeline_pass.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Span span(const char* device, const char* name, SpanKind kind, double start, double end) {
  Span made{device, name, start, end};
  made.kind = kind;
  made.device = device;
  return made;
}

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// A pass of 10 ms with four layers. The NPU waits once.
Timeline four_layers() {
  Timeline timeline;
  timeline.add(span("opencl:0", "token_embd", SpanKind::other_operator, 1.0, 1.001));
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "blk." + std::to_string(layer);
    const double start = 1.001 + 0.002 * layer;
    timeline.add(span("opencl:0", (name + ".attn_norm").c_str(), SpanKind::other_operator, start, start + 0.001));
    timeline.add(span("npu:0", (name + ".attn_qkv").c_str(), SpanKind::matmul, start + 0.001, start + 0.002));
  }
  timeline.add(span("npu:0", "before blk.0.attn_qkv", SpanKind::wait, 1.0, 1.002));
  timeline.add({kPassTrack, "layer", 1.0, 1.010});
  return timeline;
}

TEST(TracePicture, has_a_bar_for_every_span_of_the_pass_and_again_for_two_layers) {
  const std::string svg = trace_picture(four_layers());
  EXPECT_THAT(svg, HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, HasSubstr("What each processor did during one pass, 10 ms"));
  EXPECT_EQ(count(svg, "<title>blk.0.attn_qkv</title>"), 1u) << "outside the two layers in the middle";
  EXPECT_EQ(count(svg, "<title>blk.1.attn_qkv</title>"), 2u);
  EXPECT_EQ(count(svg, "<title>blk.2.attn_norm</title>"), 2u);
  EXPECT_EQ(count(svg, "class=\"matmul\"><title>blk."), 6u) << "four, and two of them enlarged";
  EXPECT_EQ(count(svg, "class=\"wait\"><title>before blk.0.attn_qkv"), 1u);
}

// The strip is 860 wide and covers 10 ms. The first operator takes a tenth of it.
TEST(TracePicture, draws_to_scale) {
  EXPECT_THAT(
      trace_picture(four_layers()),
      HasSubstr("<rect x=\"84.00\" y=\"34.00\" width=\"86.00\" height=\"20.00\" class=\"other\"><title>token_embd"));
}

TEST(TracePicture, shows_the_last_pass_alone_and_nothing_that_was_modelled) {
  Timeline timeline = four_layers();
  timeline.add(span("opencl:0", "blk.0.other", SpanKind::matmul, 2.0, 2.002));
  Span modelled = span("npu:0", "modelled", SpanKind::matmul, 2.0, 2.001);
  modelled.modelled = true;
  timeline.add(modelled);
  timeline.add({kPassTrack, "gpu-only", 2.0, 2.002});
  const std::string svg = trace_picture(timeline);
  EXPECT_THAT(svg, HasSubstr("blk.0.other"));
  EXPECT_THAT(svg, Not(HasSubstr("attn_qkv")));
  EXPECT_THAT(svg, Not(HasSubstr("modelled")));
}

TEST(TracePicture, of_nothing_is_an_error) { EXPECT_THROW(trace_picture(Timeline()), Error); }

}  // namespace
}  // namespace tandem::app
