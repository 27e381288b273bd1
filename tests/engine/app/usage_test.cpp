// Every flag of every command: its help, and the status 2 for a value that it cannot take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/model/tokenizer/utf8.h"
#include "tests/engine/app/program.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// All commands, and the flags of each by the command's words ("run", "npu gemm").
struct Declared {
  std::unique_ptr<CLI::App> app = std::make_unique<CLI::App>();
  app::Action action{};
  std::map<std::vector<std::string>, CLI::App*> commands{};
};

Declared declare_all() {
  Declared all;
  for (const app::Command& command : app::commands()) {
    CLI::App* declared = all.app->add_subcommand(command.name);
    command.add(*declared, all.action);
    const auto below = declared->get_subcommands([](CLI::App*) { return true; });
    if (below.empty()) all.commands[{command.name}] = declared;
    for (CLI::App* one : below) all.commands[{command.name, one->get_name()}] = one;
  }
  return all;
}

// These flags accept any text: texts, and paths, which are found missing only when they are opened.
const std::set<std::string> kFree = {"--model",       "--prompt",
                                     "--file",        "--ids",
                                     "--jsonl",       "--save-state",
                                     "--load-state",  "--calibration",
                                     "--stop",        "--trace",
                                     "--logits",      "--output",
                                     "--html",        "--routing",
                                     "--prediction",  "--draft-model",
                                     "--history",     "--cases",
                                     "--json-schema", "--grammar",
                                     "--packed",      "--chat-template-file",
                                     "--system",      "--routing-out",
                                     "--host",        "--alias",
                                     "--api-key",     "--api-key-file",
                                     "--allow-host",  "--allow-origin",
                                     "FILE",          "TRACE"};

TEST(Usage, junk_for_any_flag_of_any_command_is_status_2_and_named) {
  const Declared all = declare_all();
  size_t tried = 0;
  for (const auto& [words, command] : all.commands) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string flag = option->get_name();
      const bool is_format = flag == "--output" && words.front() == "bench";
      if (option->get_items_expected_min() == 0 || (kFree.contains(flag) && !is_format)) continue;
      if (flag == "--prompt" || flag == "--help") continue;
      for (const char* junk : {"~junk~", "1e999", "-3", "0x", "99999999999999999999999"}) {
        SCOPED_TRACE(words.front() + " " + flag + " " + junk);
        const Outcome outcome = tandem_program([&] {
          std::vector<std::string> arguments = words;
          arguments.insert(arguments.end(), {flag, junk});
          return arguments;
        }());
        EXPECT_EQ(outcome.status, 2) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(flag));
        EXPECT_THAT(outcome.out, IsEmpty());
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 300u);
}

TEST(Usage, a_refusal_is_an_object_where_a_benchmark_is_asked_for_json) {
  for (const std::vector<std::string>& form : {std::vector<std::string>{"-o", "json"}, {"--output=json"}, {"--json"}}) {
    std::vector<std::string> command = {"bench", "-m", "/nowhere/x.gguf"};
    command.insert(command.end(), form.begin(), form.end());
    const Outcome outcome = tandem_program(command);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.out, StartsWith("{\"error\":")) << form.front();
  }
  EXPECT_THAT(tandem_program({"bench", "-m", "/nowhere/x.gguf"}).out, IsEmpty());
}

TEST(Usage, of_bytes_that_are_no_text_shows_text) {
  const Outcome outcome = tandem_program({"f\xff\xfeg"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(utf8::masked(outcome.err, '\x01'), outcome.err);
}

// An unset variable of the shell makes such a name.
TEST(Usage, an_empty_name_of_a_file_is_status_2_and_names_the_flag) {
  const Declared all = declare_all();
  size_t tried = 0;
  for (const auto& [words, command] : all.commands) {
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_type_name().find("FILE") == std::string::npos) continue;
      std::vector<std::string> arguments = words;
      if (option->nonpositional()) arguments.push_back(option->get_name());
      arguments.emplace_back();
      const Outcome outcome = tandem_program(arguments);
      EXPECT_EQ(outcome.status, 2) << words.front() << " " << option->get_name() << "\n" << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(option->get_name()));
      ++tried;
    }
  }
  EXPECT_GT(tried, 30u);
  const Outcome device = tandem_program({"run", "-m", "x", "-p", "a", "--device", "npu:0?params="});
  EXPECT_EQ(device.status, 2);
  EXPECT_THAT(device.err, HasSubstr("'params' has no value"));
}

TEST(Usage, a_device_that_is_named_twice_is_status_2) {
  for (const char* devices : {"host,host", "npu,npu:0?params=x.json"}) {
    const Outcome outcome = tandem_program({"run", "-m", "x", "-p", "a", "--device", devices});
    EXPECT_EQ(outcome.status, 2) << devices;
    EXPECT_THAT(outcome.err, HasSubstr("twice"));
  }
}

TEST(Usage, lists_whose_values_do_not_go_together_are_status_2) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> wrong = {
      {{"--split", "0.5,0.6"}, "do not add up to 1"},
      {{"--split", "0.5,0.3,0.2", "--device", "npu:0,host"}, "more shares than devices"},
      {{"--moe-tiers", "1,2,3"}, "do not fall"},
      {{"--device", "npu:0", "host"}, "this argument was not expected: host"},
      {{"--experts", "4", "more"}, "these arguments were not expected: --experts 4 more"}};
  for (const auto& [flags, says] : wrong) {
    std::vector<std::string> command = {"run", "-m", "x", "-p", "a"};
    command.insert(command.end(), flags.begin(), flags.end());
    const Outcome outcome = tandem_program(command);
    EXPECT_EQ(outcome.status, 2) << flags.front();
    EXPECT_THAT(outcome.err, HasSubstr(says));
  }
}

TEST(Usage, help_of_any_command_is_printable_text) {
  const Declared all = declare_all();
  for (const auto& [words, command] : all.commands) {
    std::vector<std::string> arguments = words;
    arguments.emplace_back("--help");
    const Outcome help = tandem_program(arguments);
    EXPECT_EQ(help.status, 0);
    EXPECT_EQ(utf8::masked(help.out, '\x01'), help.out) << words.front() << ": valid UTF-8";
    for (const char c : help.out)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ') << words.front() << ": byte " << int{c};
  }
}

TEST(Usage, help_and_refusals_of_a_flag_with_names_show_the_names) {
  const std::string help = tandem_program({"run", "--help"}).out;
  for (const char* names : {"{quartile,covering}", "{balanced,faster,all}", "{spill,drop}", "{f16,f32}"})
    EXPECT_THAT(help, HasSubstr(names));
  for (const char* flag : {"--moe-tier-rule", "--moe-residency", "--overflow", "--cache-type", "--ndp-split",
                           "--ndp-prompts", "--ndp-prefetch"}) {
    const Outcome refused = tandem_program({"run", "-m", "x", "-p", "a", flag, "junk"});
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("junk not in {"));
    EXPECT_THAT(refused.err, HasSubstr("}. `tandem --help`")) << "the whole list";
  }
}

TEST(Usage, the_environment_is_judged_like_flags_and_named) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> read = {
      {"TANDEM_LOG", {"info", "-m", "/nowhere/x.gguf"}},   {"TANDEM_DEVICE", {"devices"}},
      {"TANDEM_COMPILE", {"run", "-m", "x", "-p", "a"}},   {"TANDEM_DEADLINE", {"run", "-m", "x", "-p", "a"}},
      {"REQUIRE_OPENCL", {"devices", "--device", "host"}}, {"REQUIRE_VULKAN", {"devices", "--device", "host"}}};
  for (const auto& [name, arguments] : read) {
    const char* before = std::getenv(name.c_str());
    const std::string kept = before == nullptr ? "" : before;
    setenv(name.c_str(), "~junk~", 1);
    const Outcome outcome = tandem_program(arguments);
    before == nullptr ? unsetenv(name.c_str()) : setenv(name.c_str(), kept.c_str(), 1);
    EXPECT_EQ(outcome.status, 2) << name << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(name));
    EXPECT_THAT(outcome.err, HasSubstr("~junk~"));
  }
}

TEST(Usage, log_levels_are_taken_in_any_case_and_for_a_logger_by_name) {
  for (const char* levels : {"debug", "WARN", "off", "", "tandem=info", "info,other=trace"}) {
    setenv("TANDEM_LOG", levels, 1);
    EXPECT_EQ(tandem_program({"info", "-m", "/nowhere/x.gguf"}).status, 1) << levels;
  }
  for (const char* junk : {"info,", ",info", "=debug", " =debug", "info,,warn"}) {
    setenv("TANDEM_LOG", junk, 1);
    EXPECT_EQ(tandem_program({"info", "-m", "/nowhere/x.gguf"}).status, 2) << junk;
  }
  unsetenv("TANDEM_LOG");
}

}  // namespace
}  // namespace tandem
