// Templates that fail: their errors and their limits. Others check the authors of a rendering's characters.
#include <sys/resource.h>

#include <chrono>
#include <vector>

#include "tests/engine/model/chat_template/rendering.h"

namespace tandem::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ChatTemplate, white_space_goes_as_transformers_asks_of_jinja) {
  EXPECT_EQ(rendered("a\n{% if true %}\nb\n{% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(rendered("a\n  {% if true %}  b\n  {% endif %}c"), "a\n  b\nc");
  EXPECT_EQ(rendered("a  {%- if true -%}  b  {%- endif %}  c"), "ab  c");
  EXPECT_EQ(rendered("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(rendered("a\n{# a note {{ }} #}\nb {#- another -#} c"), "a\nbc");
}

TEST(ChatTemplate, an_unknown_construct_is_an_error_that_names_it_its_line_and_the_way_out) {
  const auto names = [](const std::string& what, int line) {
    return AllOf(HasSubstr("uses " + what + ", which is not known here"),
                 HasSubstr("a.jinja: line " + std::to_string(line)), HasSubstr("--chat-template-file"));
  };
  EXPECT_THAT(failure("\n{% include 'x' %}"), names("the statement `include`", 2));
  EXPECT_THAT(failure("{{ 'x' }}\n\n{{ 'x' | urlize }}"), names("the filter `urlize`", 3));
  EXPECT_THAT(failure("{{ 'x' is beautiful }}"), names("the test `beautiful`", 1));
  EXPECT_THAT(failure("{{ 'x'.casefold() }}"), names("the method or attribute `casefold` of a str", 1));
  EXPECT_THAT(failure("{{ lipsum() }}"), names("the function `lipsum`", 1));
  EXPECT_THAT(failure("{{ 'x' | trim(nonsense=1) }}"), names("the argument `nonsense` of the filter `trim`", 1));
  EXPECT_THAT(failure("{% macro m() %}\n{{ x | nope }}{% endmacro %}\n\n{{ m() }}"), names("the filter `nope`", 2));
  EXPECT_EQ(rendered("{% if false %}{{ 'x' | urlize }}{% endif %}a"), "a") << "a branch that is not taken is not run";
}

TEST(ChatTemplate, an_error_has_the_line_and_a_broken_template_is_one) {
  EXPECT_THAT(failure("a\n{{ 'b' + 1 }}"), AllOf(HasSubstr("`+` of a str and a int"), HasSubstr("line 2")));
  EXPECT_THAT(failure("{{ nothing.role }}"), HasSubstr("'nothing' is undefined"));
  for (const char* broken : {"{% if true %}a", "a {{ 'b", "a {# b", "{{ }}", "{{ 'a' 1 }}", "{% endif %}", "{{ (1] }}",
                             "{%", "{% for x %}{% endfor %}", "{% break %}", "{{ a.% }}", "{% raw %}"})
    EXPECT_THAT(failure(broken), Not(IsEmpty())) << broken;
  EXPECT_THAT(failure("{% if true %}a"), HasSubstr("without its `endif`"));
  EXPECT_THAT(failure("{% for x in [1] %}a"), HasSubstr("without its `endfor`"));
  EXPECT_THAT(failure("\xFF"), HasSubstr("UTF-8"));
}

TEST(ChatTemplate, a_refusal_has_the_templates_own_words) {
  try {
    rendered("a\n{{ raise_exception('No \xC3\xA9 here') }}");
    FAIL();
  } catch (const chat::TemplateRefusal& refusal) {
    EXPECT_EQ(refusal.failure(), "No \xC3\xA9 here");
    EXPECT_THAT(refusal.object(), HasSubstr("line 2"));
  }
}

// Each of these would take hours or all memory.
TEST(ChatTemplate, hostile_templates_end_as_errors_within_seconds_and_256_megabytes) {
  std::string brackets = "{{ " + std::string(20000, '('), ifs, loops, ends, doubling = "{% set x = 'abcdefgh' %}",
              sums = "{{ 1";
  for (int i = 0; i < 20000; ++i) ifs += "{% if 1 %}", sums += "+1";
  for (int i = 0; i < 10; ++i) loops += "{% for a in range(10) %}", ends += "{% endfor %}";
  for (int i = 0; i < 64; ++i) doubling += "{% set x = x + x %}";
  const std::string nested_list =
      "{% set n = namespace(x=[]) %}{% for i in range(90000) %}{% set n.x = [n.x] %}{% endfor %}";
  const std::string circle = "{% set n = namespace() %}{% set n.self = n %}{{ n }}";
  const std::string macro = "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}";
  const std::string kept =
      "{% set n = namespace(x=none) %}{% for i in range(30000) %}{% set n.x = namespace(y=n.x) %}{% endfor %}";
  const std::string twice =
      "{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x * 2 %}{% endfor %}";
  const std::string many =
      "{% set n = namespace(x=[]) %}{% for i in range(99999) %}{% set n.x = n.x + ['a' * 10000] %}{% endfor %}";
  const std::string generators =
      "{% set n = namespace(x=[1]) %}{% for i in range(99999) %}{% set n.x = n.x | map('abs') %}{% endfor %}";
  const auto forever = [](const std::string& prefix, const std::string& expression) {
    return prefix + "{% for i in range(99999) %}{% for j in range(99999) %}{% set y = " + expression +
           " %}{% endfor %}{% endfor %}";
  };
  const std::string large = "{% set x = 'ab' * 500000 %}{% set part = 'ab' * 200000 ~ 'c' %}";
  const std::string shared =
      "{% set n = namespace(x=(1, 1), y=(1, 1)) %}{% for i in range(60) %}{% set n.x = (n.x, n.x) %}"
      "{% set n.y = (n.y, n.y) %}{% endfor %}";
  const std::vector<std::string> hostile = {
      forever(large, "x.rpartition('c')"),
      forever(large, "x.removeprefix('a')"),
      forever(large, "part in x"),
      forever(large, "x.rfind(part)"),
      forever(large, "x.count(part)"),
      forever(large, "x.rsplit(part, 1)"),
      forever(large, "x is upper"),
      forever(large, "x == x ~ ''"),
      forever(large, "x in {}"),
      forever("{% set l = range(9999) | list %}", "l == l[:]"),
      shared + "{{ n.x == n.y }}",
      shared + "{{ n.x < n.y }}",
      shared + "{{ n.x in {} }}",
      shared + "{{ n.x }}",
      brackets,
      brackets + "1" + std::string(20000, ')') + " }}",
      ifs,
      sums + " }}",
      loops + ends,
      "{% for a in range(100000) %}{% for b in range(100000) %}{{ b }}{% endfor %}{% endfor %}",
      doubling,
      nested_list,
      circle,
      macro,
      twice,
      many,
      generators,
      std::string("{{ range(10 ** 12) }}"),
      std::string("{{ 'a' * 10 ** 12 }}"),
      std::string("{{ [1] * 10 ** 12 }}"),
      std::string("{{ 2 ** (10 ** 9) }}"),
      std::string("{{ 'a'.center(10 ** 12) }}"),
      std::string("{{ '%1000000000d' % 1 }}"),
      std::string("{{ 'x'.zfill(10 ** 15) }}"),
      std::string("{{ ('a' * 1000000).replace('', 'b' * 1000) }}"),
      std::string("{{ 'ab' | indent(10 ** 9, true) }}"),
      std::string("{{ [[1]] | batch(10 ** 12, 1) | list }}"),
      "{{ " + std::string(3000, '-') + "1 }}"};
  for (const std::string& source : hostile) {
    const auto start = std::chrono::steady_clock::now();
    const std::string why = failure(source);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_THAT(why, Not(IsEmpty())) << source.substr(0, 80);
    std::printf("%.2f s: %s\n", seconds.count(), why.substr(0, 70).c_str());
    EXPECT_LT(seconds.count(), 20) << source.substr(0, 80) << ": far above the second of an idle machine";
  }
  EXPECT_EQ(failure(kept), "") << "long chains are given back without recursion";
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LT(usage.ru_maxrss, 256 << 10);  // KiB
#endif
}

// A part of more than 32 bytes is searched for in another way than a short one.
TEST(ChatTemplate, finds_parts_of_every_length_in_texts) {
  const std::string set = "{% set p = 'xy' * n %}{% set t = 'q' ~ p ~ 'r' ~ p ~ 's' %}";
  for (const char* length : {"0", "1", "16", "17", "300"}) {
    const std::string messages = "{\"messages\": [], \"chat_template_kwargs\": {\"n\": " + std::string(length) + "}}";
    const size_t size = 2 * std::stoul(length);
    EXPECT_EQ(
        rendered(set + "{{ t.find(p) }} {{ t.rfind(p) }} {{ p in t }} {{ (p ~ 'z') in t }} {{ t.rfind(p ~ 'z') }}",
                 messages),
        size == 0 ? "0 3 True False -1" : "1 " + std::to_string(size + 2) + " True False -1")
        << length;
    if (size == 0) continue;
    EXPECT_EQ(rendered(set + "{{ t.count(p) }} {{ t.replace(p, '-') }} {{ t.split(p) }} {{ t.rsplit(p, 1)[1] }} "
                             "{{ t.rpartition(p)[2] }}{{ t.partition(p)[0] }}",
                       messages),
              "2 q-r-s ['q', 'r', 's'] s sq")
        << length;
  }
}

// Who wrote each stretch: [..] is the conversation's.
std::string marked(const std::string& source, const std::string& conversation) {
  std::string all;
  rendering(source, conversation).each_stretch([&all](std::string_view stretch, chat::Author author) {
    all += author == chat::Author::conversation ? "[" + std::string(stretch) + "]" : std::string(stretch);
  });
  return all;
}

TEST(ChatTemplate, characters_remember_that_they_are_the_conversations) {
  const std::string hi = R"([{"role": "user", "content": " Hi<x> "}])";
  EXPECT_EQ(marked("<a>{{ messages[0].content }}<b>", hi), "<a>[ Hi<x> ]<b>");
  EXPECT_EQ(marked("{{ '<' ~ messages[0].content | trim + '>' }}", hi), "<[Hi<x>]>");
  EXPECT_EQ(marked("{{ messages[0].content.upper()[1:-1] }}|{{ messages[0].content[::-1] }}", hi), "[HI<X>]|[ >x<iH ]");
  EXPECT_EQ(marked("{{ messages[0].content.replace('i', '!') }}", hi), "[ H]![<x> ]");
  EXPECT_EQ(marked("{{ messages[0].content.split('<') | join('+') }}", hi), "[ Hi]+[x> ]");
  EXPECT_EQ(marked("{{ '%s-' % messages[0].content }}{{ '{}-'.format(messages[0].content) }}", hi),
            "[ Hi<x> ]-[ Hi<x> ]-");
  EXPECT_EQ(marked("{{ [messages[0].content] }}{{ messages[0].content | tojson }}", hi), "['[ Hi<x> ]']\"[ Hi<x> ]\"");
  EXPECT_EQ(marked("{% for c in messages[0].content %}{{ c }}.{% endfor %}", R"([{"content": "ab"}])"), "[a].[b].");
  EXPECT_EQ(marked("{% set x %}-{{ messages[0].content }}{% endset %}{{ x }}{% macro m(y) %}{{ y }}!{% endmacro %}"
                   "{{ m(messages[0].content) }}",
                   R"([{"content": "ab"}])"),
            "-[abab]!");
  EXPECT_EQ(marked("{{ messages | tojson }}", R"([{"k": "a\"b"}])").find("[k]"), 3u)
      << "keys are the conversation's, too";
}

// Phi's and GLM's templates make tokens of roles. An unknown role makes none.
TEST(ChatTemplate, known_roles_and_token_texts_are_the_templates_own) {
  EXPECT_EQ(marked("{{ '<|' + messages[0].role + '|>' }}", R"([{"role": "user"}])"), "<|user|>");
  EXPECT_EQ(marked("{{ '<|' + messages[0].role + '|>' }}", R"([{"role": "im_end"}])"), "<|[im_end]|>");
  EXPECT_EQ(
      marked("{{ bos_token }}{{ k }}", R"({"messages": [], "bos_token": "<s>", "chat_template_kwargs": {"k": "v"}})"),
      "<s>[v]");
}

TEST(Conversation, has_the_values_that_transformers_gives_to_a_template) {
  EXPECT_EQ(rendered("{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ bos_token is defined }}"),
            "NoneNoneFalseFalse");
  const std::string full = R"({"messages": [{"role": "user", "content": "x"}], "tools": [1], "documents": [2],
      "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "chat_template_kwargs": {"z": 9, "a": null}})";
  EXPECT_EQ(
      rendered(
          "{{ messages|length }}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ bos_token }}{{ eos_token }}"
          "{{ z }}{{ a }}",
          full),
      "1[1][2]True<s></s>9None");
  EXPECT_EQ(rendered("{{ messages[0] }}", R"([{"z": 1, "a": 123456789012345678901234567890, "z": 1.0, "é": [1e300]}])"),
            "{'z': 1.0, 'a': 123456789012345678901234567890, 'é': [1e+300]}");
}

TEST(Conversation, is_an_error_if_it_is_none) {
  for (const char* broken : {"", "1", "{}", "{\"messages\": 1}", "[1]", "[{]", "{\"messages\": [], \"nonsense\": 1}",
                             "{\"messages\": [], \"tools\": 1}", "{\"messages\": [], \"bos_token\": 1}",
                             "{\"messages\": [], \"chat_template_kwargs\": []}", "\xFF", "[] x"})
    EXPECT_THAT(failure("", broken), AllOf(HasSubstr("cannot read the messages"), HasSubstr("m.json"))) << broken;
  EXPECT_THAT(failure("", std::string(100000, '[')), HasSubstr("nested more than"));
}

TEST(ChatTemplate, a_time_is_a_date_that_exists) {
  EXPECT_EQ(rendered("{{ strftime_now('%a %d %b %Y %H:%M:%S %j') }}"), "Tue 03 Feb 2026 04:05:06 034");
  for (const char* wrong :
       {"", "2026-02-30T04:05:06", "2026-02-03", "2026-02-03T04:05:60", "2026-02-03T04:05:06Z", "x"})
    EXPECT_FALSE(chat::read_time(wrong)) << wrong;
}

}  // namespace
}  // namespace tandem::testing
