#include "engine/constraint/json/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "engine/constraint/automaton/stack_sets.h"

namespace tandem::constraint {
namespace {

// The numbers between two bounds, as an automaton that reads bytes.
class Numbers {
 public:
  Numbers(const Bounds& bounds, bool is_integer) : locals_(net_of(bounds, is_integer)), stacks_(locals_) {}
  bool has(const std::string& text) {
    SetId set = stacks_.begin();
    for (const char c : text) set = stacks_.step(set, static_cast<uint8_t>(c));
    return stacks_.may_end(set);
  }

 private:
  static TrimmedNet net_of(const Bounds& bounds, bool is_integer) {
    RuleNet net;
    const RuleId root = net.add_rule("number");
    add_number(net, net.start(root), bounds, is_integer, net.end(root));
    ByteSet all;
    all.fill(true);
    return trimmed(net, all, "a test");
  }
  LocalStates locals_;
  StackSets stacks_;
};

Bounds between(const char* low, const char* high, bool open = false) {
  Bounds bounds;
  if (low) bounds.raise(read_decimal(low), open);
  if (high) bounds.lower(read_decimal(high), open);
  return bounds;
}

// All whole numbers near the bounds, for every pair of bounds of a small range.
TEST(NumberText, has_exactly_the_integers_between_its_bounds) {
  for (int low = -123; low <= 123; low += 7)
    for (int high = low; high <= 130; high += 11) {
      Numbers numbers(between(std::to_string(low).c_str(), std::to_string(high).c_str()), true);
      for (int value = -1200; value <= 1200; ++value)
        ASSERT_EQ(numbers.has(std::to_string(value)), low <= value && value <= high)
            << value << " in " << low << " " << high;
    }
}

TEST(NumberText, may_have_one_bound) {
  Numbers from(between("-15", nullptr), true), to(between(nullptr, "99", true), true);
  for (int value = -1000; value <= 100000; value += 1 + std::abs(value) / 50) {
    EXPECT_EQ(from.has(std::to_string(value)), value >= -15) << value;
    EXPECT_EQ(to.has(std::to_string(value)), value < 99) << value;
  }
  EXPECT_TRUE(from.has("123456789012345678901234567890"));
  EXPECT_FALSE(to.has("123456789012345678901234567890"));
}

TEST(NumberText, has_no_zeros_in_front_and_no_bare_point) {
  Numbers numbers(between("-10", "100"), false);
  for (const char* bad : {"01", "-01", "1.", ".5", "+1", "", "-", "1e1", "--1", "1.2.3"})
    EXPECT_FALSE(numbers.has(bad)) << bad;
  for (const char* good : {"0", "-0", "0.5", "-0.5", "100", "100.000", "-10.0", "99.999999999999999999999"})
    EXPECT_TRUE(numbers.has(good)) << good;
  for (const char* bad : {"100.0000001", "-10.1", "101", "-11"}) EXPECT_FALSE(numbers.has(bad)) << bad;
}

// Bounds and numbers of up to three digits in front and behind: each answer is that of the doubles.
TEST(NumberText, has_the_fractions_between_its_bounds) {
  std::mt19937 random(3);
  const auto number = [&] {
    std::string text = random() % 2 ? "-" : "";
    text += std::to_string(random() % (random() % 2 ? 12 : 1200));
    if (random() % 3) text += "." + std::to_string(random() % 1000);
    return text;
  };
  for (int round = 0; round < 400; ++round) {
    const std::string a = number(), b = number();
    const bool open = round % 2;
    const double low = std::min(std::atof(a.c_str()), std::atof(b.c_str())),
                 high = std::max(std::atof(a.c_str()), std::atof(b.c_str()));
    if (low == high) continue;
    const bool swapped = std::atof(a.c_str()) > std::atof(b.c_str());
    Numbers numbers(between((swapped ? b : a).c_str(), (swapped ? a : b).c_str(), open), false);
    for (int i = 0; i < 200; ++i) {
      const std::string text = i == 0 ? a : i == 1 ? b : number();
      const double value = std::atof(text.c_str());
      const bool is_inside = open ? low < value && value < high : low <= value && value <= high;
      if (value == 0 && text[0] == '-') continue;  // -0: see below
      ASSERT_EQ(numbers.has(text), is_inside) << text << " between " << low << " and " << high << " open " << open;
    }
  }
}

// 0.99999999999999999999 is the double 1, so it is not below 1 for a reader.
TEST(NumberText, keeps_away_from_an_open_bound_by_what_a_double_tells_apart) {
  Numbers below(between("0", "1", true), false);
  EXPECT_TRUE(below.has("0.99999999999999"));
  EXPECT_FALSE(below.has("0.99999999999999999999"));
  EXPECT_FALSE(below.has("0.00000000000000000000000000000000000001"));
  EXPECT_FALSE(below.has("0"));
  EXPECT_FALSE(below.has("0.000"));
  EXPECT_FALSE(below.has("1"));
  EXPECT_TRUE(below.has("0.12345678901234567890"));
}

TEST(NumberText, without_bounds_has_every_form_of_a_finite_number) {
  Numbers numbers({}, false), integers({}, true);
  for (const char* good : {"0", "-0", "12", "1.25", "-1.5e-7", "1E+22", "1e-07", "9.99e307", "12345.5e99", "1.7e-300"})
    EXPECT_TRUE(numbers.has(good)) << good;
  for (const char* bad : {"01", "1e", "1e999", "123e300", "0x1", "NaN", "-", "1.e5", "2e308"})
    EXPECT_FALSE(numbers.has(bad)) << bad;
  EXPECT_TRUE(integers.has("-120"));
  for (const char* bad : {"1.0", "1e3", "007"}) EXPECT_FALSE(integers.has(bad)) << bad;
}

TEST(Bounds, are_empty_where_they_do_not_meet) {
  EXPECT_TRUE(between("1.5", "1").is_empty());
  EXPECT_FALSE(between("1", "1").is_empty());
  EXPECT_TRUE(between("1", "1", true).is_empty());
  EXPECT_FALSE(between("1", nullptr).is_empty());
}

}  // namespace
}  // namespace tandem::constraint
