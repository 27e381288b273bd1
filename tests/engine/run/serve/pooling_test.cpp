#include "engine/run/serve/pooling.h"

#include <gmock/gmock.h>

#include <vector>

#include "engine/run/serve/vector_text.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

std::vector<float> pool(Pooling pooling, bool normed) {
  Pooled text(pooling, 2);
  text.add(std::vector<float>{1, 2, 5, 6});  // two tokens, then the third
  text.add(std::vector<float>{3, 1});
  return text.vector(normed);
}

TEST(Pooling, is_the_mean_the_first_or_the_last_state) {
  EXPECT_THAT(pool(Pooling::mean, false), ElementsAre(3, 3));  // (1 + 5 + 3) / 3, (2 + 6 + 1) / 3
  EXPECT_THAT(pool(Pooling::cls, false), ElementsAre(1, 2));
  EXPECT_THAT(pool(Pooling::last, false), ElementsAre(3, 1));
}

TEST(Pooling, gives_the_length_1) {
  Pooled text(Pooling::last, 2);
  text.add(std::vector<float>{3, 4});
  EXPECT_THAT(text.vector(true), ElementsAre(FloatEq(0.6f), FloatEq(0.8f)));  // the length was 5
}

TEST(Pooling, leaves_a_vector_without_a_direction_as_it_is) {
  Pooled text(Pooling::mean, 2);
  text.add(std::vector<float>{1, -1, -1, 1});
  EXPECT_THAT(text.vector(true), ElementsAre(0, 0));
}

// 1.0f is 00 00 80 3f, -2.0f is 00 00 00 c0: 0000 803f 0000 00c0 in base64 by hand.
TEST(Base64, has_the_bytes_of_the_numbers) {
  EXPECT_EQ(base64_of(std::vector<float>{}), "");
  EXPECT_EQ(base64_of(std::vector<float>{1}), "AACAPw==");
  EXPECT_EQ(base64_of(std::vector<float>{1, -2}), "AACAPwAAAMA=");
  EXPECT_EQ(base64_of(std::vector<float>{1, -2, 1}), "AACAPwAAAMAAAIA/");
}

}  // namespace
}  // namespace tandem
