// Templates rendered for one user's turn. The expected texts are those of Jinja2 3.1 with trim_blocks
// and lstrip_blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/model/chat/template_blocks.h"
#include "engine/model/chat/template_rendering.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

const TemplateInput kInput{"Hi", "<s>", "</s>"};

std::string rendered(const std::string& source, const TemplateInput& input = kInput) {
  return render_user_turn(source, input).plain();
}

// The reason why a template is refused, or "" if it is rendered.
std::string refusal(const std::string& source) {
  try {
    rendered(source);
  } catch (const TemplateRefused& refused) {
    return refused.what();
  }
  return "";
}

TEST(Template, white_space_goes_as_transformers_asks_of_jinja) {
  EXPECT_EQ(rendered("a\n{% if true %}\nb\n{% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(rendered("a\n  {% if true %}  b\n  {% endif %}c"), "a\n  b\nc");
  EXPECT_EQ(rendered("a  {%- if true -%}  b  {%- endif %}  c"), "ab  c");
  EXPECT_EQ(rendered("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(rendered("a \n{{- 'x' -}}\n b{{ 'y' }}\nc"), "axby\nc");
  EXPECT_EQ(rendered("a\n{# a note {{ }} #}\nb {#- another -#} c"), "a\nbc");
  EXPECT_EQ(rendered("{ a { b } } {"), "{ a { b } } {");
}

TEST(Template, texts_are_joined_and_escapes_are_characters) {
  EXPECT_EQ(rendered(R"({{ '<' + messages[0]['role'] + ">\n" + messages[0].content + 'it\'s' }})"), "<user>\nHiit's");
  EXPECT_EQ(rendered("{{ bos_token ~ 1 ~ eos_token }}"), "<s>1</s>");
  EXPECT_EQ(rendered("{{ 'a' 'b' }}{{ nothing }}{{ 2 - 1 + 3 * 5 % 4 }}"), "ab4");
  EXPECT_EQ(rendered("{{ '  a ' | trim }}|{{ ' a '.lstrip() }}|{{ 'xax'.strip('x') }}"), "a|a |a");
}

TEST(Template, statements_choose_repeat_and_remember) {
  EXPECT_EQ(rendered("{% if tools %}t{% elif messages[0].role == 'user' %}u{% else %}e{% endif %}"), "u");
  EXPECT_EQ(rendered("{% if not tools is defined and 1 < 2 %}{% if false %}a{% else %}b{% endif %}{% endif %}"), "b");
  EXPECT_EQ(rendered("{% for x in ['a', 'b', 'c'][1:] %}{{ loop.index0 ~ x ~ loop.length }}{% if not loop.last %},"
                     "{% endif %}{% endfor %}"),
            "0b2,1c2");
  EXPECT_EQ(rendered("{% for m in messages[::-1] %}{% set x = m.content %}{% endfor %}{{ x }}|{{ m }}"), "|")
      << "a loop has a scope of its own";
  EXPECT_EQ(rendered("{% set ns = namespace(found=false) %}{% for m in messages %}{% set ns.found = true %}{% endfor %}"
                     "{{ 'yes' if ns.found else 'no' }}"),
            "yes");
  EXPECT_EQ(rendered("{% for m in nothing %}a{% else %}b{% endfor %}"), "b");
  EXPECT_EQ(rendered("{% macro turn(m) %}{{ m.content }}{% endmacro %}a"), "a");
  EXPECT_EQ(rendered("{{ messages[-1].content }}{{ messages | length }}{{ 'bcd' | length }}"), "Hi13");
  EXPECT_EQ(rendered("{{ 'a' in 'bac' and messages[0].tool_calls is not defined and 'x' or 'y' }}"), "x");
}

TEST(Template, what_is_not_built_matters_only_where_it_decides_or_is_printed) {
  EXPECT_EQ(rendered("{% set a = tools | tojson %}{% if tools and a %}{{ a }}{% endif %}b"), "b");
  EXPECT_EQ(refusal("{{ messages | tojson }}"), "the filter `tojson`");
  EXPECT_EQ(refusal("{% if strftime_now is defined %}a{% endif %}"), "`strftime_now`");
  EXPECT_EQ(refusal("{{ 'x' + strftime_now('%d') }}"), "`strftime_now()`");
  EXPECT_EQ(refusal("{% if messages[0].content.upper() == 'HI' %}a{% endif %}"), "`upper()`");
  EXPECT_EQ(refusal("{% include 'a' %}"), "the statement `include`");
  EXPECT_EQ(refusal("{{ 'a' + 1 }}"), "a sum of unlike values");
  EXPECT_EQ(refusal("{{ true }}"), "the output of what is no text");
}

TEST(Template, broken_or_endless_ones_are_refused) {
  EXPECT_THAT(refusal("{% if true %}a"), HasSubstr("without its end"));
  EXPECT_THAT(refusal("a {{ 'b"), HasSubstr("without its end"));
  EXPECT_THAT(refusal("a {# b"), HasSubstr("without its end"));
  EXPECT_NE(refusal("{{ }}"), "");
  EXPECT_NE(refusal("{{ 'a' 1 }}"), "");
  EXPECT_NE(refusal("{% endif %}"), "");
  EXPECT_THAT(refusal("{{ " + std::string(100000, '(') + "1 }}"), HasSubstr("deep"));
  std::string nested = "a";
  for (int i = 0; i < 2000; ++i) nested = "{% if 1 %}" + nested + "{% endif %}";
  EXPECT_THAT(refusal(nested), HasSubstr("deeply nested"));
  std::string loops, ends;
  for (int i = 0; i < 20; ++i) loops += "{% for x in [1,2,3,4,5,6,7,8] %}", ends += "{% endfor %}";
  EXPECT_THAT(refusal(loops + ends), HasSubstr("without end"));
  std::string doubling = "{% set x = 'abcdefgh' %}";
  for (int i = 0; i < 64; ++i) doubling += "{% set x = x + x %}";
  EXPECT_THAT(refusal(doubling), HasSubstr("without end"));
}

}  // namespace
}  // namespace tandem::testing
