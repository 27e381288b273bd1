// Renderings that Jinja made (record.py): snippets of every construct, and published templates.
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/engine/model/chat_template/rendering.h"
#include "tests/support/data.h"

namespace tandem::testing {
namespace {

using nlohmann::ordered_json;

const ordered_json& record() {
  static const ordered_json all =
      ordered_json::parse(std::ifstream(source_tree() / "tests/engine/model/chat_template/golden.json"));
  return all;
}

// {"text"}, {"refusal"} or {"error": true}, as in the record.
ordered_json outcome(const std::string& source, const std::string& conversation) {
  try {
    return {{"text", rendered(source, conversation)}};
  } catch (const chat::TemplateRefusal& refusal) {
    return {{"refusal", refusal.failure()}};
  } catch (const Error&) {
    return {{"error", true}};
  }
}

ordered_json recorded(ordered_json entry) {
  entry.erase("template");
  entry.erase("conversation");
  return entry;
}

TEST(ChatTemplateGolden, snippets_render_as_in_jinja_byte_for_byte) {
  const std::string values = record().at("snippet_values").get<std::string>();
  ASSERT_GT(record().at("snippets").size(), 400u);
  const auto& snippets = record().at("snippets");
  for (const auto& entry : snippets) {
    const auto source = entry.at("template").get<std::string>();
    EXPECT_EQ(outcome(source, values), recorded(entry)) << source;
  }
}

TEST(ChatTemplateGolden, published_templates_render_as_in_jinja_byte_for_byte) {
  int compared = 0, missing = 0;
  const auto& published = record().at("published");
  for (const auto& entry : published) {
    const auto name = entry.at("template").get<std::string>();
    const auto path = larger_data("chat-templates/" + name);
    missing += path ? 0 : 1;
    if (!path) continue;
    std::ifstream file(*path, std::ios::binary);
    const std::string source(std::istreambuf_iterator<char>(file), {});
    const std::string conversation = record().at("conversations").at(entry.at("conversation").get<size_t>()).dump();
    EXPECT_EQ(outcome(source, conversation), recorded(entry)) << name << " " << conversation;
    ++compared;
  }
  EXPECT_GE(compared, 32) << "four templates are in every clone";
  if (missing > 0) std::printf("%d renderings are of templates that are not here\n", missing);
}

}  // namespace
}  // namespace tandem::testing
