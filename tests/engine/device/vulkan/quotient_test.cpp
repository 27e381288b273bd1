// The shaders' own source for quotients and roots, compiled here with a number type. Its division and roots are as
// inexact as Vulkan allows a driver's to be.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace tandem::vulkan {
namespace {

int error_units = 0;  // the error of every division and root of the driver

float off(float exact) {
  if (!std::isnormal(exact)) return exact;
  return std::bit_cast<float>(std::bit_cast<int32_t>(exact) + error_units);
}

// The shading language's float: literals are rounded to it, and every operation is rounded once.
class Float {
 public:
  Float(double value) : value_(static_cast<float>(value)) {}
  float value() const { return value_; }

 private:
  float value_;
};
Float operator+(Float a, Float b) { return a.value() + b.value(); }
Float operator-(Float a, Float b) { return a.value() - b.value(); }
Float operator-(Float a) { return -a.value(); }
Float operator*(Float a, Float b) { return a.value() * b.value(); }
Float operator/(Float a, Float b) { return off(a.value() / b.value()); }
bool operator<(Float a, Float b) { return a.value() < b.value(); }
bool operator>(Float a, Float b) { return a.value() > b.value(); }
bool operator<=(Float a, Float b) { return a.value() <= b.value(); }
Float fma(Float a, Float b, Float c) { return std::fma(a.value(), b.value(), c.value()); }
Float sqrt(Float a) { return off(std::sqrt(a.value())); }
Float inversesqrt(Float a) { return off(static_cast<float>(1.0 / std::sqrt(static_cast<double>(a.value())))); }
uint32_t floatBitsToUint(Float a) { return std::bit_cast<uint32_t>(a.value()); }
Float uintBitsToFloat(uint32_t bits) { return std::bit_cast<float>(bits); }

using uint = uint32_t;
#define CORRECTED 1
#define precise
#define float Float
#include "shaders/quotient.glsl"
#undef float
#undef precise

// Mantissas are random or at both ends. Exponents are as large as possible while values and quotients stay
// normal numbers.
class Numbers {
 public:
  float next(int exponent) {
    const int choice = choices_(random_);
    const float mantissa = choice == 0 ? 1.0f : choice == 1 ? 0x1.fffffep0f : mantissas_(random_);
    return std::ldexp(mantissa, std::uniform_int_distribution<int>(-exponent, exponent)(random_));
  }

 private:
  std::mt19937 random_{5};
  std::uniform_int_distribution<int> choices_{0, 9};
  std::uniform_real_distribution<float> mantissas_{1.0f, 2.0f};
};

TEST(Quotients, are_rounded_once_whatever_the_drivers_are_off_by) {
  Numbers numbers;
  for (error_units = -2; error_units <= 2; ++error_units) {
    for (int i = 0; i < 200'000; ++i) {
      const float a = numbers.next(62), b = numbers.next(62);
      ASSERT_EQ(quotient(a, b).value(), a / b) << a << " / " << b << ", off by " << error_units;
      ASSERT_EQ(quotient(-a, b).value(), -a / b) << a << " / " << b;
      ASSERT_EQ(quotient(a, -b).value(), a / -b) << a << " / " << b;
    }
  }
  EXPECT_NE(Float(1.0).value(), (Float(1.0) / Float(1.0)).value()) << "the driver is off";
}

TEST(Quotients, of_extreme_numbers_are_rounded_once_as_long_as_they_are_normal) {
  error_units = 2;
  for (const auto& [a, b] : {std::pair{0x1.234567p-100f, 127.0f},
                             {127.0f, 0x1.234567p-100f},
                             {-80.5f, 0x1.76543p115f},
                             {0x1.fffffep-101f, 0x1.000002p-10f},
                             {0x1.8p100f, 0x1.fffffep101f},
                             {0x1.8p-125f, 0x1.234p-124f},
                             {0x1.234568p127f, 0x1.fffffep3f}})
    EXPECT_EQ(quotient(a, b).value(), a / b) << a << " / " << b;
}

TEST(Quotients, of_zeros_and_infinities_are_the_drivers) {
  error_units = 1;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(quotient(3.0f, kInfinity).value(), 0.0f);
  EXPECT_EQ(quotient(0.0f, 3.0f).value(), 0.0f);
  EXPECT_EQ(quotient(3.0f, 0.0f).value(), kInfinity);
  EXPECT_EQ(quotient(-kInfinity, 3.0f).value(), -kInfinity);
  EXPECT_TRUE(std::isnan(quotient(0.0f, 0.0f).value()));
  EXPECT_EQ(root(0.0f).value(), 0.0f);
  EXPECT_EQ(root(kInfinity).value(), kInfinity);
}

TEST(Roots, are_rounded_once_whatever_the_drivers_are_off_by) {
  Numbers numbers;
  for (error_units = -2; error_units <= 2; ++error_units) {
    for (int i = 0; i < 200'000; ++i) {
      const float x = numbers.next(124);
      ASSERT_EQ(root(x).value(), std::sqrt(x)) << x << ", off by " << error_units;
    }
    for (uint32_t mantissa = 0; mantissa < 1u << 24; mantissa += 7) {  // even and odd exponents
      const float x = std::bit_cast<float>(0x3f800000u + mantissa);
      ASSERT_EQ(root(x).value(), std::sqrt(x)) << x << ", off by " << error_units;
    }
  }
}

}  // namespace
}  // namespace tandem::vulkan
