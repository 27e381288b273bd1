// `tandem bench-sync`: its text, its JSON, its page, its statuses. The tests judge no time.
#include "engine/app/commands/sync/bench_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/app/commands/sync/bench_sync_html.h"
#include "engine/app/commands/sync/bench_sync_text.h"
#include "engine/app/commands/sync/svg.h"
#include "engine/device/registry.h"
#include "engine/lab/sync_json.h"
#include "engine/lab/targets.h"
#include "sync/error.h"
#include "tests/engine/app/program.h"
#include "tests/engine/lab/lab_values.h"
#include "tests/support/scratch_folder.h"

namespace tandem {
namespace {

using nlohmann::json;
using ::tandem::testing::lab_result;
using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The place where a text of elements stops being well-formed, or "" if it is well-formed. The check covers the XML of
// our own pages: elements end in order, attributes are quoted, and the text holds no bare & or <.
std::string first_fault(const std::string& page) {
  std::vector<std::string> open;
  size_t at = page.find('\n') + 1;  // behind the doctype
  while (at < page.size()) {
    const char c = page[at];
    if (c == '&') {
      const size_t end = page.find(';', at);
      if (end == std::string::npos || end - at > 8) return "bare & at " + std::to_string(at);
    }
    if (c != '<') {
      ++at;
      continue;
    }
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "no end of the tag at " + std::to_string(at);
    const std::string tag = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.empty() || tag.find('<') != std::string::npos) return "bare < near " + tag;
    if (std::ranges::count(tag, '"') % 2 != 0) return "odd quotes in " + tag;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
      if (open.back() == "style") at = page.find("</style>", at);
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

sync_lab::LabResult with_everything() {
  sync_lab::LabResult result = lab_result();
  result.targets = {{"a target", 1.1, 1.2, false, "x", "from <here>"}, {"another", {}, 50, true, "x", "not judged"}};
  result.decode = sync_lab::DecodeMeaning{
      "model & co.gguf",         "tensor", {"opencl:0"}, 4, 5, {{"opencl:0", sync::Policy::spin, 5, 1e-4}},
      {"npu:0 was not measured"}};
  result.warnings = {"a warning with <brackets>"};
  return result;
}

TEST(BenchSync, json_holds_every_row_with_its_units_and_null_for_what_is_not_known) {
  const json report = sync_lab::sync_json(with_everything());
  EXPECT_EQ(report["schema"], 2);
  EXPECT_EQ(report["bench"], "sync");
  EXPECT_EQ(report["clock"], "measured");
  for (const char* key : {"processor", "system", "cores", "timer_hz", "load_average", "quiet"})
    EXPECT_TRUE(report["machine"].contains(key)) << key;
  const json& limit = report["devices"][0]["limit"];
  EXPECT_NEAR(limit["round_trip"]["middle_us"].get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(limit["before_us"].get<double>(), 0.099, 1e-9);
  EXPECT_EQ(limit["cores"], json({1, 0}));
  EXPECT_EQ(limit["steady"], true);
  const json& rows = report["devices"][0]["rows"];
  ASSERT_EQ(rows.size(), 12u);
  EXPECT_EQ(report["devices"][0]["driver"], "Driver 1.0");
  for (const json& row : rows) {
    for (const char* key : {"policy", "work_us", "spinners", "status", "reason", "verified_steps", "lost_steps"})
      EXPECT_TRUE(row.contains(key)) << key;
    if (row["status"] != "measured") continue;
    for (const char* key :
         {"round_trip", "overhead", "to_device", "to_host", "cpu_thread_us", "cpu_process_us", "single_per_second",
          "times_limit", "chained_per_second", "neighbour_slowdown_percent", "prediction_error_percent"})
      EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_NEAR(rows[0]["round_trip"]["p50_us"].get<double>(), 50, 1e-9);
  EXPECT_TRUE(rows[0]["to_device"].is_null());
  EXPECT_NEAR(rows[3]["to_host"]["p50_us"].get<double>(), 0.3, 1e-9);
  EXPECT_EQ(rows[10]["status"], "off");
  EXPECT_EQ(rows[10]["reason"], "the driver has <no> events");
  EXPECT_EQ(rows[11]["spinners"], 2);
  EXPECT_EQ(report["targets"][0]["met"], true);
  EXPECT_TRUE(report["targets"][1]["met"].is_null());
  EXPECT_NEAR(report["decode"]["savings"][0]["saved_us"].get<double>(), 100, 1e-9);
  EXPECT_TRUE(sync_lab::sync_json(lab_result())["decode"].is_null());
}

sync_lab::LabResult of_a_card() {
  sync_lab::LabResult result = lab_result();
  sync_lab::DeviceResult& card = result.devices[0];
  card.limit.reset();
  card.own_memory = true;
  card.bus = sync_lab::BusTrip{::tandem::testing::around(2e-6)};
  card.rows.push_back(::tandem::testing::lab_row(sync::Policy::blocking, 0, 33e-6, 30e-6));
  card.rows.back().launched = true;
  return result;
}

TEST(BenchSync, reports_of_a_card_name_its_bus_and_the_launches_that_stand_for_a_policy) {
  const json report = sync_lab::sync_json(of_a_card());
  const json& device = report["devices"][0];
  EXPECT_EQ(device["own_memory"], true);
  EXPECT_NEAR(device["bus"]["middle_us"].get<double>(), 2, 1e-9);
  EXPECT_TRUE(device["limit"].is_null());
  EXPECT_EQ(device["rows"].back()["policy"], "launch+finish");
  EXPECT_NEAR(device["rows"].back()["round_trip"]["p50_us"].get<double>(), 33, 1e-9);
  EXPECT_NEAR(device["rows"].back()["times_limit"].get<double>(), 33.0 / 2, 1e-9);
  const std::string text = app::sync_text(of_a_card()), page = app::sync_html(of_a_card());
  EXPECT_EQ(first_fault(page), "");
  for (const std::string& shown : {text, page}) {
    EXPECT_THAT(shown, HasSubstr("launch+finish"));
    EXPECT_THAT(shown, HasSubstr("a read of the host's memory across the bus"));
  }
  EXPECT_TRUE(sync_lab::sync_json(lab_result())["devices"][0]["bus"].is_null());
}

TEST(BenchSync, report_without_a_figure_is_an_error_with_the_reasons) {
  sync_lab::LabResult result = lab_result();
  EXPECT_NO_THROW(app::require_figures(result, true));
  sync_lab::DeviceResult none;
  none.id = "vulkan:0";
  none.problem = "its driver crashed";
  result.devices.push_back(none);
  EXPECT_NO_THROW(app::require_figures(result, false));  // a device that was not named may fail
  EXPECT_THROW(app::require_figures(result, true), Error);
  for (sync_lab::SyncRow& row : result.devices[0].rows) {
    row.status = sync_lab::RowStatus::off;
    row.reason = "stores are not seen";
  }
  for (const bool named : {false, true}) {
    try {
      app::require_figures(result, named);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.hint(), HasSubstr("stores are not seen"));
      const std::string all = named ? "" : "its driver crashed";
      EXPECT_THAT(error.hint(), HasSubstr(all));
    }
  }
  EXPECT_THROW(app::require_figures({}, false), Error);
}

TEST(BenchSync, text_shows_the_rows_the_reasons_and_the_targets) {
  const std::string text = app::sync_text(with_everything());
  for (const char* part : {"doorbell", "off: the driver has <no> events", "more spinners than cores", "a warning",
                           "prediction off by 3.0 %", "met", "no figure", "5 waits", "(computed"})
    EXPECT_THAT(text, HasSubstr(part));
}

// The figure 0.17 us is in no row. Facts, chart, table, target and JSON must all show this figure.
TEST(BenchSync, shows_one_cache_line_of_a_device_everywhere) {
  sync_lab::LabResult result = lab_result();
  sync_lab::CacheLine& line = *result.devices[0].limit;
  line.round_trip = {1000, 0.013e-6, 0.31e-6, 0.4e-6, 0.5e-6, 9e-6, 0.17e-6};  // the median, 0.31 us, is not shown
  line.before_seconds = 0.169e-6;
  line.after_seconds = 0.171e-6;
  result.targets = sync_lab::judge(result);
  const std::string page = app::sync_html(result), text = app::sync_text(result), target = result.targets[0].note;
  EXPECT_THAT(page, HasSubstr("opencl:0: a cache line between core 1, 0 takes 0.170"));
  EXPECT_THAT(page, HasSubstr("cache line, there and back: 0.170"));
  EXPECT_THAT(text, HasSubstr("core 1 and core 0, 0.170 us there and back"));
  EXPECT_THAT(target, HasSubstr("two cache-line transfers 0.17 us"));
  const json report = sync_lab::sync_json(result);
  EXPECT_NEAR(report["devices"][0]["limit"]["round_trip"]["middle_us"].get<double>(), 0.17, 1e-9);
  EXPECT_NEAR(report["devices"][0]["rows"][0]["times_limit"].get<double>(), 50 / 0.17, 1e-9);
  EXPECT_FALSE(report.contains("limit"));
  for (const char* other : {"0.310", "0.013"}) {
    EXPECT_THAT(page, Not(HasSubstr(other)));
    EXPECT_THAT(text, Not(HasSubstr(other)));
  }
}

TEST(BenchSync, page_is_well_formed_and_needs_nothing_else) {
  const std::string page = app::sync_html(with_everything());
  EXPECT_EQ(first_fault(page), "");
  for (const char* outside : {"http:", "https:", "//", "<script", "<link", "<img", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  // The page has three drawings of the one device.
  size_t drawings = 0;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++drawings;
  EXPECT_EQ(drawings, 3u);
  for (const char* part : {"A &lt;processor&gt; &amp; &quot;more&quot;", "model &amp; co.gguf", "policy-doorbell",
                           "missed", "the driver has &lt;no&gt; events"})
    EXPECT_THAT(page, HasSubstr(part)) << part;
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(BenchSync, page_of_nothing_is_well_formed_too) {
  sync_lab::LabResult empty;
  sync_lab::DeviceResult broken;
  broken.id = "vulkan:0";
  broken.problem = "no driver";
  empty.devices = {broken};
  EXPECT_EQ(first_fault(app::sync_html(empty)), "");
  EXPECT_THAT(app::sync_html(empty), HasSubstr("no driver"));
  EXPECT_THAT(app::sync_text(empty), HasSubstr("no driver"));
}

TEST(Svg, escapes_markup_and_replaces_what_is_no_text) {
  EXPECT_EQ(app::escape_markup("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(app::escape_markup("µs ≤ 😀"), "µs ≤ 😀");
  EXPECT_EQ(app::escape_markup(std::string("x\x01\xff\xc3") + "y"), "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy");
  EXPECT_EQ(app::escape_markup("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // half a surrogate pair
}

TEST(Svg, log_axis_gives_every_decade_the_same_length) {
  const auto axis = app::LogAxis::around({0.0, 2e-6, 3e-3}, 0, 400);  // 1e-6 to 1e-2
  EXPECT_NEAR(axis.at(1e-6), 0, 1e-6);
  EXPECT_NEAR(axis.at(1e-5), 100, 1e-6);
  EXPECT_NEAR(axis.at(1e-2), 400, 1e-6);
  EXPECT_NEAR(axis.at(0), 0, 1e-6);
  EXPECT_EQ(axis.decades().size(), 5u);
  EXPECT_EQ(app::LogAxis::around({}, 0, 1).decades().size(), 2u);
}

TEST(BenchSync, lengths_have_units) {
  EXPECT_DOUBLE_EQ(app::parse_duration("0"), 0);
  EXPECT_DOUBLE_EQ(app::parse_duration("40"), 40e-6);
  EXPECT_DOUBLE_EQ(app::parse_duration("250us"), 250e-6);
  EXPECT_DOUBLE_EQ(app::parse_duration("1.5ms"), 1.5e-3);
  EXPECT_DOUBLE_EQ(app::parse_duration("1s"), 1);
  EXPECT_DOUBLE_EQ(app::parse_duration("1000000us"), 1);
  EXPECT_DOUBLE_EQ(app::parse_duration("2.5e2us"), 250e-6);
  for (const char* wrong : {"", "us", "-1", "2s", "1min", "nan", "1e9", "0x1ms", "1 ms"})
    EXPECT_THROW(app::parse_duration(wrong), Error) << wrong;
}

TEST(BenchSync, wrong_usage_is_status_2) {
  EXPECT_EQ(tandem_program({"bench-sync", "--policies", "hoping"}).status, 2);
  EXPECT_EQ(tandem_program({"bench-sync", "--sizes", "long"}).status, 2);
  EXPECT_EQ(tandem_program({"bench-sync", "--rounds", "-1"}).status, 2);
}

TEST(BenchSync, device_that_is_not_there_is_a_failure_with_its_reason) {
  const Outcome outcome = tandem_program({"bench-sync", "--device", "opencl:99", "--quick", "-q"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("opencl:99"));
}

TEST(BenchSync, quick_run_on_the_host_writes_rows_and_the_page) {
  const testing::ScratchFolder folder;
  const std::string page = folder.file("page.html");
  const Outcome outcome =
      tandem_program({"bench-sync", "--device", "host", "--quick", "--rounds", "5", "--sizes", "0,20us", "--policies",
                      "blocking,spin,predict", "--json", "--html", page, "-q"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  ASSERT_EQ(report["devices"].size(), 1u);
  ASSERT_EQ(report["devices"][0]["rows"].size(), 9u);  // two lengths, and one length among spinning threads
  int measured = 0;
  for (const json& row : report["devices"][0]["rows"]) {
    EXPECT_THAT(row["status"].get<std::string>(), AnyOf("measured", "off"));
    if (row["status"] != "measured") continue;
    ++measured;
    EXPECT_GT(row["round_trip"]["count"].get<int>(), 0);
    EXPECT_GT(row["verified_steps"].get<int>(), 0);
    EXPECT_EQ(row["lost_steps"], 0);
  }
  EXPECT_GT(measured, 0);
  EXPECT_EQ(report["targets"].size(), 5u);
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(first_fault(text.str()), "");
}

// The test forks, because the flag that Ctrl-C sets is never cleared.
TEST(BenchSync, ctrl_c_ends_the_run_with_status_130_and_no_page) {
  const testing::ScratchFolder folder;
  const std::string page = folder.file("page.html");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const char* argv[] = {"tandem", "bench-sync", "--device", "host", "-q", "--html", page.c_str()};
    alarm(60);  // a run that does not end fails instead of hanging
    std::thread([] {
      usleep(300'000);
      kill(getpid(), SIGINT);
    }).detach();
    _exit(app::run_program(std::size(argv), argv));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_FALSE(std::filesystem::exists(page));
}

}  // namespace
}  // namespace tandem
