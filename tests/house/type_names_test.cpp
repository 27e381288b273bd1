#include "tests/house/type_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/source_tree.h"

namespace tandem::house {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TypeNames, stand_for_one_thing_each_in_this_tree) {
  const TypeReport report = check_type_names(tandem::testing::source_tree());
  EXPECT_GT(report.types, 100);
  EXPECT_THAT(report.repeated, IsEmpty());
}

TEST(TypeNames, are_found_with_their_namespaces) {
  EXPECT_THAT(defined_types("namespace a {\nstruct One { int x; };\nclass Two final : public One {\n};\n}\n"
                            "namespace a::b {\nenum class Three : uint8_t { x };\n}\n"),
              ElementsAre("a::One", "a::Two", "a::b::Three"));
}

TEST(TypeNames, of_members_and_of_anonymous_namespaces_do_not_count) {
  EXPECT_THAT(defined_types("namespace a {\nnamespace {\nstruct Hidden {};\n}\nstruct Outer {\n  struct Inner {};\n};\n"
                            "struct Elsewhere::Body { int x; };\nvoid f() { struct Local {}; }\nstruct Declared;\n}\n"),
              ElementsAre("a::Outer"));
}

TEST(TypeNames, in_comments_and_literals_do_not_count) {
  EXPECT_THAT(
      defined_types("// struct A {\n/* struct B { */\nconst char* s = \"struct C {\"; char c = '{';\nstruct D {};\n"),
      ElementsAre("D"));
}

}  // namespace
}  // namespace tandem::house
