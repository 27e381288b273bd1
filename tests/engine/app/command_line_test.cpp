// Exit statuses, help and errors of the program.
#include "engine/app/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/engine/app/program.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CommandLine, help_is_there_for_the_program_and_for_every_command) {
  Outcome whole = tandem_program({"--help"});
  EXPECT_EQ(whole.status, 0);
  EXPECT_THAT(whole.out, HasSubstr("TANDEM_MODEL"));
  ASSERT_GE(app::commands().size(), 6u);
  for (const app::Command& command : app::commands()) {
    EXPECT_THAT(whole.out, HasSubstr(command.name));
    Outcome own = tandem_program({command.name, "--help"});
    EXPECT_EQ(own.status, 0) << command.name;
    EXPECT_THAT(own.out, HasSubstr(command.explains));
    EXPECT_THAT(own.err, IsEmpty());
  }
}

TEST(CommandLine, help_names_every_variable_of_a_flag) {
  const std::string help = tandem_program({"--help"}).out;
  size_t variables = 0;
  for (const app::Command& command : app::commands()) {
    CLI::App root;
    app::Action action;
    CLI::App* declared = root.add_subcommand(command.name);
    command.add(*declared, action);
    for (const CLI::Option* option : declared->get_options())
      if (!option->get_envname().empty()) {
        EXPECT_THAT(help, HasSubstr(option->get_envname())) << command.name;
        ++variables;
      }
  }
  EXPECT_GT(variables, 10u);
}

TEST(CommandLine, lists_commands_on_three_shelves) {
  const std::string help = tandem_program({"--help"}).out;
  const std::pair<const char*, const char*> places[] = {{app::kUse, "run"},
                                                        {app::kUse, "bench"},
                                                        {app::kMeasure, "bench-sync"},
                                                        {app::kMeasure, "plan"},
                                                        {app::kStudy, "make-moe"}};
  for (const auto& [shelf, command] : places) {
    const size_t title = help.find("\n" + std::string(shelf) + ":\n"),
                 name = help.find("\n  " + std::string(command) + " ");
    ASSERT_NE(title, std::string::npos) << shelf;
    ASSERT_NE(name, std::string::npos) << command;
    EXPECT_LT(title, name) << command;
    for (const char* other : {app::kUse, app::kMeasure, app::kStudy}) {
      const size_t at = help.find("\n" + std::string(other) + ":\n");
      EXPECT_FALSE(title < at && at < name) << command << " is listed under " << other;
    }
  }
}

TEST(CommandLine, lists_flags_of_research_systems_last) {
  for (const char* command : {"run", "eval", "bench", "plan"}) {
    const std::string help = tandem_program({command, "--help"}).out;
    const size_t research = help.find("\nResearch: "), environment = help.find("\nEnvironment:");
    ASSERT_NE(research, std::string::npos) << command;
    EXPECT_GT(help.find("N2:"), research) << command;
    EXPECT_GT(help.find("--moe-tiers"), research) << command;
    for (const char* title : {"\nOutput:", "\nDevices and plans:", "\nContext and precision:"})
      EXPECT_LT(help.find(title), research) << command << title;
    EXPECT_LT(research, environment) << command;
  }
}

TEST(CommandLine, wrong_usage_is_status_2_with_one_line_on_stderr_and_nothing_on_stdout) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"nonsense"},
                                                       {"info"},
                                                       {"tokenize", "-m", "x.gguf"},
                                                       {"tokenize", "-m", "x.gguf", "-p", "a", "-f", "b"},
                                                       {"info", "-m", "x", "--nonsense"},
                                                       {"eval", "-m", "x.gguf"},
                                                       {"eval", "-m", "x.gguf", "--ids", "a", "-f", "b"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--temp", "-1"},
                                                       {"plan", "-m", "x.gguf", "--plan", "foo"},
                                                       {"plan", "-m", "x.gguf", "--soc", "foo"},
                                                       {"plan", "--shape", "foo", "--soc", "snapdragon-8gen3"},
                                                       {"plan", "--shape", "llama-3-8b"},
                                                       {"plan", "-m", "x.gguf", "--weights", "Q9"},
                                                       {"bench", "-m", "x.gguf", "-p", "0", "-n", "0"},
                                                       {"bench", "-m", "x.gguf", "-np", "8", "--chunk", "4"},
                                                       {"make-random", "--shape", "foo", "-o", "x"},
                                                       {"pack", "-m", "x.gguf"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--expert-budget", "0%"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--expert-budget", "101%"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--expert-budget", "25"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--expert-budget", "0GiB"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--expert-budget", "nanMiB"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--host-budget", "-1"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--host-budget", "2GB"},
                                                       {"run", "-m", "x.gguf", "-p", "a", "--host-budget", ""},
                                                       {"make-random", "--shape", "smollm2-135m", "--type", "Q9"},
                                                       {"devices", "--device", "gpu:0"},
                                                       {"devices", "--device", "npu:0?parms=x"}};
  unsetenv("TANDEM_MODEL");
  for (const auto& arguments : wrong) {
    Outcome outcome = tandem_program(arguments);
    EXPECT_EQ(outcome.status, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("tandem: wrong usage: "));
  }
}

std::string refusal(const std::vector<std::string>& arguments) {
  const Outcome outcome = tandem_program(arguments);
  EXPECT_EQ(outcome.status, 2) << ::testing::PrintToString(arguments);
  return outcome.err;
}

TEST(CommandLine, a_word_that_is_no_command_is_named_with_those_that_there_are) {
  EXPECT_THAT(refusal({"foo"}),
              HasSubstr("there is no command 'foo'; there are: run, chat, serve, embed, eval, tokenize"));
  EXPECT_THAT(refusal({"foo", "run", "-m", "x"}), HasSubstr("there is no command 'foo'"));
  EXPECT_THAT(refusal({"help", "foo"}), HasSubstr("there is no command 'foo'"));
  EXPECT_THAT(refusal({""}), HasSubstr("a command is missing"));
  EXPECT_THAT(refusal({}), HasSubstr("a command is missing; there are: run, chat, serve, embed, eval"));
  EXPECT_THAT(refusal({"--json", "run"}), HasSubstr("the flag '--json' is before the command"));
}

TEST(CommandLine, a_flag_that_there_is_not_is_named_before_one_that_is_missing) {
  for (const char* command : {"run", "eval", "tokenize", "info", "make-random"}) {
    const std::string message = refusal({command, "--no-such-flag"});
    EXPECT_THAT(message, HasSubstr("--no-such-flag"));
    EXPECT_THAT(message, Not(HasSubstr("required"))) << command;
  }
}

TEST(CommandLine, help_is_a_word_too) {
  const auto text = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = tandem_program(arguments);
    EXPECT_EQ(outcome.status, 0) << ::testing::PrintToString(arguments) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(text({"help"}), text({"--help"}));
  EXPECT_EQ(text({"run", "help"}), text({"run", "--help"}));
  EXPECT_EQ(text({"help", "run"}), text({"run", "--help"}));
  EXPECT_EQ(text({"help", "run", "-m", "x"}), text({"run", "--help"}));
  EXPECT_THAT(text({"run", "help"}), HasSubstr("--predict"));
}

// Man pages are made of the help, and two builds have the same bytes.
TEST(CommandLine, help_names_flags_that_exclude_each_other_in_one_order) {
  const std::string help = tandem_program({"bench", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("Excludes: --breakdown --depth --roofline --soc\n"));
  EXPECT_THAT(help, HasSubstr("--exact Excludes: --act --fast\n"));
}

TEST(CommandLine, a_model_and_a_shape_exclude_each_other_but_for_a_model_of_the_environment) {
  const std::vector<std::string> shape = {"plan", "--shape", "smollm2-135m", "--soc", "snapdragon-8gen3", "-p", "2"};
  std::vector<std::string> both = shape;
  both.insert(both.end(), {"-m", "x.gguf"});
  EXPECT_THAT(refusal(both), HasSubstr("--shape excludes --model"));
  setenv("TANDEM_MODEL", "/nowhere/from_environment.gguf", 1);
  const Outcome outcome = tandem_program(shape);
  unsetenv("TANDEM_MODEL");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST(CommandLine, failed_work_is_status_1_with_what_on_what_and_what_to_do) {
  Outcome outcome = tandem_program({"info", "-m", "/nowhere/missing.gguf"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("tandem: "));
  EXPECT_THAT(outcome.err, HasSubstr("/nowhere/missing.gguf"));
}

TEST(CommandLine, with_json_an_error_is_an_object_on_stdout_too) {
  Outcome failed = tandem_program({"info", "-m", "/nowhere/missing.gguf", "--json"});
  EXPECT_EQ(failed.status, 1);
  nlohmann::json object = nlohmann::json::parse(failed.out);
  EXPECT_THAT(object["error"]["message"].get<std::string>(), HasSubstr("/nowhere/missing.gguf"));
  EXPECT_THAT(object["error"]["what"].get<std::string>(), Not(IsEmpty()));
  EXPECT_TRUE(object["error"].contains("hint"));
  Outcome wrong = tandem_program({"info", "--json", "--nonsense"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(nlohmann::json::parse(wrong.out)["error"]["what"], "wrong usage");
  for (const char* on : {"--json=true", "--json=1"})
    EXPECT_TRUE(nlohmann::json::accept(tandem_program({"info", on, "--nonsense"}).out)) << on;
  EXPECT_THAT(tandem_program({"info", "--json=false", "--nonsense"}).out, IsEmpty());
  const nlohmann::json plans = nlohmann::json::parse(tandem_program({"run", "--plan", "list", "--json"}).out)["plans"];
  EXPECT_EQ(plans.back()["name"], "auto");
  EXPECT_GT(plans.front()["explains"].get<std::string>().size(), 5u);
  Outcome formats = tandem_program({"bench", "-m", "x.gguf", "--json", "-o", "csv"});
  EXPECT_EQ(formats.status, 2);
  EXPECT_THAT(formats.err, HasSubstr("--json excludes --output csv"));
}

TEST(CommandLine, the_model_may_come_from_the_environment) {
  setenv("TANDEM_MODEL", "/nowhere/from_environment.gguf", 1);
  Outcome outcome = tandem_program({"info"});
  unsetenv("TANDEM_MODEL");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("from_environment.gguf"));
}

TEST(CommandLine, of_the_environment_only_what_the_named_command_takes_is_judged) {
  setenv("TANDEM_DEVICE", "no device id", 1);
  const Outcome help = tandem_program({"--help"});
  const Outcome tokenize = tandem_program({"tokenize", "-m", "/nowhere/missing.gguf", "-p", "a"});
  const Outcome devices = tandem_program({"devices"});
  unsetenv("TANDEM_DEVICE");
  EXPECT_EQ(help.status, 0) << help.err;
  EXPECT_EQ(tokenize.status, 1) << tokenize.err;
  EXPECT_THAT(tokenize.err, HasSubstr("/nowhere/missing.gguf"));
  EXPECT_EQ(devices.status, 2);
  EXPECT_THAT(devices.err, HasSubstr("'no device id' is no device id"));
}

}  // namespace
}  // namespace tandem
