#include "sync/printable_text.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(PrintableText, shows_control_characters_as_numbers_and_leaves_the_rest) {
  EXPECT_EQ(printable_text("two\nlines\tand a tab"), "two\nlines\tand a tab");
  EXPECT_EQ(printable_text("gr\xc3\xbc\xc3\x9f \xe2\x82\xac"), "gr\xc3\xbc\xc3\x9f \xe2\x82\xac") << "UTF-8 stays";
  EXPECT_EQ(printable_text("\x1b[31mred\x7f\r"), "\\x1b[31mred\\x7f\\x0d");
  EXPECT_EQ(printable_text(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable_text("\xc2\x9b"
                           "2J \xc2\xa0"),
            "\\xc2\\x9b"
            "2J \xc2\xa0")
      << "CSI as one character: what stays is UTF-8";
}

}  // namespace
}  // namespace tandem
