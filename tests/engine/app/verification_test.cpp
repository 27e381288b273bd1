// The check that `tandem bench` runs before it times anything. One wrong bit fails it if equal bits are required.
#include "engine/app/commands/bench/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "sync/error.h"

namespace tandem::app {
namespace {

using ::testing::HasSubstr;

const std::vector<float> kLogits = {1.5f, -40.0f, 0.25f, 7.0f};

std::vector<float> next_bit(std::vector<float> logits, size_t i) {
  logits[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(logits[i]) ^ 1u);
  return logits;
}

std::string complaint(const Verification& verification) {
  try {
    require(verification, "npu:0, plan layer");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Verification, accepts_equal_bits_and_no_single_other_bit) {
  for (size_t i = 0; i < kLogits.size(); ++i) {
    Verification same, other;
    same.compare(kLogits, kLogits);
    other.compare(kLogits, kLogits);
    other.compare(kLogits, next_bit(kLogits, i));
    other.compare(kLogits, kLogits);
    EXPECT_TRUE(same.holds());
    EXPECT_EQ(complaint(same), "");
    EXPECT_FALSE(other.holds()) << "logit " << i;
    EXPECT_EQ(other.different(), 1);
    EXPECT_EQ(other.tokens(), 3);
    EXPECT_THAT(complaint(other), HasSubstr("npu:0, plan layer: 1 logits of 3 tokens have other bits"));
  }
  Verification zeros;
  zeros.compare(std::vector{0.0f}, std::vector{-0.0f});
  EXPECT_FALSE(zeros.holds()) << "equal, but not the same bits";
}

TEST(Verification, allows_a_tolerance_where_there_is_a_reason_for_it_and_no_more) {
  const auto with = [](float difference) {
    Verification verification("vulkan:0's multiply-adds round twice");
    std::vector<float> got = kLogits;
    got[3] += difference;
    verification.compare(kLogits, got);
    return verification;
  };
  // The tolerance is 2 % of the largest logit, 40.
  EXPECT_DOUBLE_EQ(with(0).allowed(), 0.8);
  EXPECT_TRUE(with(0.75f).holds());
  EXPECT_TRUE(with(-0.75f).holds());
  EXPECT_FALSE(with(0.875f).holds());
  EXPECT_THAT(complaint(with(0.875f)), HasSubstr("allowed 0.8 because vulkan:0's multiply-adds round twice"));
  EXPECT_EQ(with(0.75f).text(), "within 0.8");
  const nlohmann::json json = verification_json(with(0.75f));
  EXPECT_EQ(json.at("bits"), false);
  EXPECT_EQ(json.at("max_difference"), 0.75);
  EXPECT_EQ(json.at("why_tolerance"), "vulkan:0's multiply-adds round twice");

  Verification small("a reason");
  small.compare(std::vector{0.01f}, std::vector{0.0f});
  EXPECT_DOUBLE_EQ(small.allowed(), 0.02) << "never less than 2 % of one";
}

TEST(Verification, accepts_no_logit_that_is_no_number_wherever_it_stands) {
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (size_t i = 0; i < kLogits.size(); ++i) {
      std::vector<float> got = kLogits;
      got[i] = wrong;
      for (const char* why : {"", "a reason"}) {
        Verification verification(why);
        verification.compare(kLogits, got);
        EXPECT_FALSE(verification.holds()) << wrong << " at " << i << " " << why;
      }
    }
  }
}

TEST(Verification, of_nothing_does_not_hold) {
  EXPECT_FALSE(Verification().holds());
  EXPECT_FALSE(Verification("a reason").holds());
  EXPECT_NE(complaint(Verification()), "");
}

}  // namespace
}  // namespace tandem::app
