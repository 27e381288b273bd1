// Checks the loops of shaders/*.comp, and that the check counts like a compiler.
#include "tests/house/shader_trips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/source_tree.h"

namespace tandem::house {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::optional<std::string> read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TripReport of_main(const std::string& body, const std::string& before = "") {
  return count_trips("t.comp", before + "\nvoid main() {\n" + body + "\n}\n");
}

TEST(ShaderTrips, every_shader_of_this_tree_stays_below_the_budget) {
  std::filesystem::path folder = tandem::testing::source_tree() / "shaders";
  int shaders = 0;
  if (std::filesystem::exists(folder)) {
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
      if (item.path().extension() != ".comp") continue;
      ++shaders;
      TripReport report = count_trips(item.path().filename().string(), *read(item.path()),
                                      [&](const std::string& name) { return read(item.path().parent_path() / name); });
      EXPECT_THAT(report.problems, IsEmpty());
    }
  }
  if (shaders == 0) GTEST_SKIP() << "skipped: the tree has no shaders/*.comp";
}

TEST(ShaderTrips, counts_a_loop_over_constants_as_written) {
  EXPECT_EQ(of_main("for (int i = 0; i < 10; ++i) { x += i; }").trips, 10);
  EXPECT_EQ(of_main("for (uint i = 0u; i <= 10u; i += 4u) x += i;").trips, 3);
  EXPECT_EQ(of_main("for (int s = 64; s > 0; s >>= 1) { barrier(); }").trips, 7);
  EXPECT_EQ(of_main("for (int s = 1; s < 100; s <<= 1) { }").trips, 7);
  EXPECT_EQ(of_main("for (int i = 5; i >= 0; i--) x;").trips, 6);
  EXPECT_EQ(of_main("x = 1;").trips, 0);
}

TEST(ShaderTrips, takes_bounds_from_macros_and_constants) {
  EXPECT_EQ(of_main("for (int i = 0; i < TILE * 2; i++) { }", "#ifndef TILE\n#define TILE (4 + 1)\n#endif\n").trips,
            10);
  EXPECT_EQ(of_main("for (int i = 0; i < N / 2; i++) { }", "const int M = 8;\nconst int N = M << 1;").trips, 8);
}

TEST(ShaderTrips, multiplies_nested_loops_and_counts_the_outer_rounds_too) {
  // 3 rounds, with one round of the outer loop and 4 of the inner loop each.
  EXPECT_EQ(of_main("for (int i = 0; i < 3; ++i) { for (int k = 0; k < 4; ++k) { x; } }").trips, 3 * (1 + 4));
  EXPECT_EQ(
      of_main("for (int i = 0; i < 3; ++i)\n for (int k = 0; k < 4; ++k)\n  for (int j = 0; j < 2; ++j) x;").trips,
      3 * (1 + 4 * (1 + 2)));
}

TEST(ShaderTrips, counts_called_functions_at_each_call) {
  std::string dot = "float dot8(int n) {\n for (int i = 0; i < 8; ++i) { x; }\n return x;\n}\n";
  EXPECT_EQ(of_main("dot8(1); y = dot8(2) + dot8(3);", dot).trips, 24);
  EXPECT_EQ(of_main("for (int i = 0; i < 2; ++i) { dot8(i); }", dot).trips, 2 * (1 + 8));
  EXPECT_EQ(of_main("DOT(1);", dot + "#define DOT(n) dot8(n)\n").trips, 8);
}

TEST(ShaderTrips, takes_the_longer_branch_of_an_if) {
  EXPECT_EQ(of_main("if (a) { for (int i = 0; i < 8; ++i) x; } else for (int i = 0; i < 9; ++i) x;").trips, 9);
  EXPECT_EQ(of_main("if (a) for (int i = 0; i < 8; ++i) x;\nfor (int i = 0; i < 1; ++i) y;").trips, 9);
}

TEST(ShaderTrips, rejects_a_loop_that_cannot_be_counted) {
  EXPECT_THAT(of_main("for (uint k = 0; k < p.K; ++k) { }").problems,
              ElementsAre(HasSubstr("t.comp:3: the iterations")));
  EXPECT_THAT(of_main("x;\nwhile (flag == 0) { }").problems, ElementsAre(HasSubstr("t.comp:4:")));
  EXPECT_THAT(of_main("do { x; } while (y);\nz;").problems, ElementsAre(HasSubstr("t.comp:3:")));
  EXPECT_THAT(of_main("for (int i = 0; i < N; ++i) { }", "layout(constant_id = 0) const int N = 4;").problems,
              ElementsAre(HasSubstr("cannot be counted")));
  EXPECT_THAT(of_main("", "#define LOOP(n) for (int i = 0; i < n; ++i)\n").problems,
              ElementsAre(HasSubstr("macro LOOP")));
}

TEST(ShaderTrips, takes_the_bound_beside_a_loop) {
  EXPECT_EQ(of_main("// trips <= MAX_K / 4   K is checked by the host\nfor (uint k = 0; k < p.K; k += 4) { }",
                    "#define MAX_K 4096\n")
                .trips,
            1024);
  EXPECT_EQ(of_main("while (x) {  // trips <= 100\n for (int i = 0; i < 9; ++i) y;\n}").trips, 1000);
  EXPECT_THAT(of_main("// trips <= K\nfor (uint k = 0; k < p.K; ++k) { }").problems,
              ElementsAre(HasSubstr("cannot be counted")));
}

TEST(ShaderTrips, rejects_65535_rounds_and_accepts_one_less) {
  EXPECT_THAT(of_main("for (int i = 0; i < 65534; ++i) { }").problems, IsEmpty());
  EXPECT_THAT(of_main("for (int i = 0; i < 65535; ++i) { }").problems,
              ElementsAre(HasSubstr("65535 loop iterations or more")));
  EXPECT_THAT(of_main("for (int i = 0; i < 40000; ++i) { }\nfor (int i = 0; i < 40000; ++i) { }").problems,
              ElementsAre(HasSubstr("or more")));
  EXPECT_THAT(of_main("for (int i = 0; i < 256; ++i) for (int k = 0; k < 256; ++k) { }").problems,
              ElementsAre(HasSubstr("or more")));
  EXPECT_THAT(of_main("for (int i = 0; i >= 0; ++i) { }").problems, ElementsAre(HasSubstr("or more")));
}

TEST(ShaderTrips, counts_what_an_included_file_brings) {
  auto include = [](const std::string& name) -> std::optional<std::string> {
    if (name != "common.glsl") return std::nullopt;
    return "#define LANES 16\nvoid fold() { for (int i = 0; i < LANES; ++i) { x; } }\n";
  };
  TripReport report = count_trips("t.comp", "#include \"common.glsl\"\nvoid main() { fold(); }\n", include);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.trips, 16);
  EXPECT_THAT(count_trips("t.comp", "#include \"other.glsl\"\nvoid main() { }\n", include).problems,
              ElementsAre(HasSubstr("other.glsl")));
}

TEST(ShaderTrips, loops_in_comments_do_not_count) {
  EXPECT_EQ(of_main("// for (;;) {}\n/* while (1) {} */ x = 1;").loops, 0);
  EXPECT_THAT(count_trips("t.comp", "").problems, ElementsAre(HasSubstr("no main()")));
}

}  // namespace
}  // namespace tandem::house
