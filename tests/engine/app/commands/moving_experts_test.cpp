// Whole commands with experts that move: `pack`, and the budgets of `run`, `eval` and `bench`. No bit of a
// result changes.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;

// Eight experts, two for each token, in two layers.
class MovingExpertsCommands : public ::testing::Test {
 protected:
  Arguments run(const Arguments& more = {}) const {
    return Arguments{"run", "-m", model_, "-p", "Once upon a time there was", "-n", "12", "--temp", "0"} + on_host() +
           more;
  }
  // With a plan among `more`.
  Arguments divided_run(const Arguments& more) const {
    return Arguments{"run",
                     "-m",
                     model_,
                     "-p",
                     "Once upon a time there was",
                     "-n",
                     "12",
                     "--temp",
                     "0",
                     "--device",
                     "host",
                     "--act",
                     "f32",
                     "--cache-type",
                     "f32"} +
           more;
  }
  json answer(const Arguments& more) const { return json_of(run(more), caches_); }
  fs::path kept() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.file("")))
      if (entry.path().extension() == ".packed") return entry.path();
    return {};
  }

  const Folder folder_;
  const std::string model_ = toy_mixture(folder_, 2, 128);
  const ChildSettings caches_{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
};

TEST_F(MovingExpertsCommands, write_the_same_text_with_every_budget_and_say_what_moved) {
  const json plain = answer({});
  EXPECT_TRUE(plain.at("expert_store").is_null());
  for (const Arguments& budget : {Arguments{"--expert-budget", "25%"}, Arguments{"--host-budget", "50%"},
                                  Arguments{"--expert-budget", "13%", "--host-budget", "2"}}) {
    const json moved = answer(budget);
    EXPECT_EQ(moved.at("text"), plain.at("text")) << ::testing::PrintToString(budget);
    const json& store = moved.at("expert_store");
    EXPECT_EQ(store.at("experts_per_layer"), 8);
    EXPECT_GT(store.at("text").at("choices"), 0);
    EXPECT_GT(store.at("prompts").at("loads").get<int>() + store.at("text").at("loads").get<int>(), 0);
  }
  EXPECT_EQ(answer({"--expert-budget", "25%"}).at("expert_store").at("slots_per_layer"), 2);
  EXPECT_TRUE(answer({"--expert-budget", "100%"}).at("expert_store").is_null());
  const Ended text = tandem(run({"--expert-budget", "25%"}), caches_);
  EXPECT_THAT(text.err, HasSubstr("2 of 8 experts of each layer are in memory"));
  EXPECT_THAT(text.err, HasSubstr("experts of the text: "));
}

// C11. Two layers, two experts for each token. The last layer computes the last token of a prompt alone.
TEST_F(MovingExpertsCommands, count_choices_of_prompts_and_of_text_apart) {
  for (const int words : {2, 5, 30}) {
    std::string prompt;
    for (int i = 0; i < words; ++i) prompt += "a ";
    const Arguments text{"run",      "-m",   model_,         "-p",     prompt,
                         "-n",       "12",   "--ignore-eos", "--spec", "none",
                         "--device", "host", "--act",        "f32",    "--expert-budget",
                         "25%"};
    for (const Arguments& plan : {Arguments{}, Arguments{"--expert-copies", "--plan", "hybrimoe"}}) {
      const json answer = json_of(text + plan, caches_);
      const json &store = answer.at("expert_store"), &lanes = store.at("lanes");
      SCOPED_TRACE(answer.at("prompt_ids").size());
      const auto choices = [&](const char* of) {
        return store.at(of).at("choices").get<size_t>() +
               (lanes.is_null() ? 0 : lanes.at(of).at("choices").get<size_t>());
      };
      EXPECT_EQ(choices("prompts"), 2 * (answer.at("prompt_ids").size() + 1));
      EXPECT_EQ(choices("text"), 2 * 2 * (answer.at("ids").size() - 1));
    }
  }
}

TEST_F(MovingExpertsCommands, say_what_moved_behind_many_texts_too) {
  const std::string lines = folder_.write("lines", R"({"prompt": "Once"})");
  const Ended ended = tandem(Arguments{"run", "-m", model_, "--jsonl", lines, "-n", "9", "--ignore-eos"} + on_host() +
                                 Arguments{"--expert-budget", "25%"},
                             caches_);
  ASSERT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("experts of the text: "));
}

// C11: the disk has a lane of its own, with all bytes that were read.
TEST_F(MovingExpertsCommands, draw_the_reads_of_experts_in_a_trace) {
  const std::string trace = folder_.file("trace.json"), picture = folder_.file("trace.svg");
  const Arguments budget{"--expert-budget", "25%", "--hot-experts", "off"};
  const json store = answer(budget + Arguments{"--trace", trace}).at("expert_store");
  int disk = -1;
  double bytes = 0;
  const json events = json::parse(content_of(trace)).at("traceEvents");
  for (const json& event : events)
    if (event.at("name") == "thread_name" && event.at("args").at("name") == "disk") disk = event.at("tid");
  ASSERT_GE(disk, 0);
  for (const json& event : events) {
    if (event.value("tid", 0) != disk || event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    EXPECT_THAT(event.at("name").get<std::string>(), HasSubstr("experts of layer"));
    bytes += event.at("args").at("bytes").get<double>();
  }
  EXPECT_EQ(bytes,
            store.at("prompts").at("read_bytes").get<double>() + store.at("text").at("read_bytes").get<double>());
  EXPECT_EQ(tandem(run(budget + Arguments{"--trace", picture}), caches_).status, 0);
  EXPECT_THAT(content_of(picture), HasSubstr(">disk<"));
}

TEST_F(MovingExpertsCommands, give_eval_its_bits_and_bench_its_rows) {
  const Arguments eval = Arguments{"eval", "-m", model_, "-p", "Once upon a time there was a small dog"} + on_host();
  const std::string plain = folder_.file("plain"), moved = folder_.file("moved");
  EXPECT_EQ(tandem(eval + Arguments{"--logits", plain}, caches_).status, 0);
  const json answer = json_of(eval + Arguments{"--logits", moved, "--expert-budget", "25%"}, caches_);
  EXPECT_EQ(content_of(moved), content_of(plain));
  EXPECT_EQ(answer.at("expert_store").at("slots_per_layer"), 2);
  const json rows = json_of(
      Arguments{"bench", "-m", model_, "-p", "8", "-n", "4", "-r", "1", "--host-budget", "25%"} + on_host(), caches_);
  EXPECT_THAT(rows.dump(), HasSubstr("slots_per_layer"));
}

TEST_F(MovingExpertsCommands, divide_experts_between_lanes_and_write_the_same_text) {
  const Arguments copies{"--expert-copies", "--expert-budget", "38%"};
  const json plain = answer({});
  for (const char* plan : {"hybrimoe", "moe-fixed", "moe-lru", "moe-layer-split"})
    for (const Arguments& more : {Arguments{}, Arguments{"--expert-policy", "lru", "--host-slower", "2"}}) {
      const json divided = json_of(divided_run(copies + Arguments{"--plan", plan} + more), caches_);
      EXPECT_EQ(divided.at("text"), plain.at("text")) << plan;
      const json& lanes = divided.at("expert_store").at("lanes");
      EXPECT_EQ(lanes.at("policy"), more.empty() ? "auto" : "lru");
      EXPECT_EQ(lanes.at("host_slower"), more.empty() ? 1 : 2);
      const json& text = lanes.at("text");
      EXPECT_EQ(text.at("choices"),
                text.at("in_slots").get<int>() + text.at("copied").get<int>() + text.at("on_host").get<int>());
      EXPECT_EQ(text.at("choices") == 0, std::string(plan) == "moe-layer-split");
    }
  const json chosen = json_of(divided_run(copies + Arguments{"--plan", "auto"}), caches_);
  EXPECT_EQ(chosen.at("text"), plain.at("text"));
  const json& offers = chosen.at("expert_store").at("lanes").at("plans_of_text");
  ASSERT_EQ(offers.size(), 6u) << offers;
  EXPECT_EQ(offers.at(0).at("plan"), "hybrimoe");
  const Ended slow =
      tandem(divided_run({"--link-gbps", "0.5", "--expert-budget", "38%", "--plan", "moe-lru", "--host-slower", "3"}),
             caches_);
  EXPECT_EQ(slow.status, 0);
  EXPECT_THAT(slow.err, HasSubstr("3 of 8 experts of each layer have slots on the GPU"));
  EXPECT_THAT(slow.err, HasSubstr("the link is slowed down to 0.5 GB/s"));
  EXPECT_THAT(slow.err, HasSubstr("products on the host are slowed down 3 times"));
  EXPECT_THAT(slow.err, HasSubstr("copied to it"));
  for (const Arguments& bad :
       {Arguments{"--link-gbps", "0"}, Arguments{"--host-slower", "0.5"}, Arguments{"--expert-policy", "belady"},
        Arguments{"--link-gbps", "fast"}, Arguments{"--expert-prefetch", "maybe"}, Arguments{"--insert", "all"},
        Arguments{"--disk-gbps", "0"}, Arguments{"--disk-gbps", "nan"}})
    EXPECT_EQ(tandem(divided_run(bad), caches_).status, 2) << ::testing::PrintToString(bad);
  for (const Arguments& needs : {Arguments{"--plan", "hybrimoe"}, Arguments{"--plan", "hybrimoe", "--expert-copies"},
                                 Arguments{"--plan", "moe-lru", "--expert-budget", "38%"}}) {
    const Ended refused = tandem(divided_run(needs), caches_);
    EXPECT_EQ(refused.status, 1) << ::testing::PrintToString(needs);
    EXPECT_THAT(refused.err, HasSubstr("needs experts that are copied into slots of the GPU"));
  }
}

// The GPU then has a slot for each expert, and the link has nothing to copy.
TEST_F(MovingExpertsCommands, divide_experts_with_a_budget_that_holds_all_of_them) {
  const json plain = answer({});
  for (const char* plan : {"auto", "hybrimoe", "moe-fixed-transfer", "moe-on-demand"})
    for (const char* budget : {"100%", "64MiB"}) {
      const json divided =
          json_of(divided_run({"--expert-copies", "--expert-budget", budget, "--plan", plan}), caches_);
      EXPECT_EQ(divided.at("text"), plain.at("text")) << plan << " " << budget;
      const json& store = divided.at("expert_store");
      EXPECT_EQ(store.at("slots_per_layer"), 8) << plan << " " << budget;
      EXPECT_EQ(store.at("lanes").at("text").at("copied"), 0) << plan << " " << budget;
    }
}

TEST_F(MovingExpertsCommands, keep_their_slots_with_a_static_policy) {
  const Arguments fixed{"--expert-copies", "--expert-budget", "38%", "--expert-policy", "static"};
  const json plain = answer({});
  for (const char* plan : {"auto", "hybrimoe", "moe-lru", "moe-on-demand"}) {
    const json kept = json_of(divided_run(fixed + Arguments{"--plan", plan, "--insert", "miss"}), caches_);
    EXPECT_EQ(kept.at("text"), plain.at("text")) << plan;
    const json& lanes = kept.at("expert_store").at("lanes");
    EXPECT_EQ(lanes.at("policy"), "static");
    for (const char* phase : {"prompts", "text"}) {
      EXPECT_EQ(lanes.at(phase).at("experts_kept"), 0) << plan;
      EXPECT_EQ(lanes.at(phase).at("evictions"), 0) << plan;
    }
  }
  EXPECT_THAT(tandem(run({"--expert-policy", "static"}), caches_).err, HasSubstr("no use here for --expert-policy"));
}

TEST_F(MovingExpertsCommands, name_flags_that_have_no_use) {
  const auto notes = [&](const Arguments& flags) { return tandem(divided_run(flags), caches_).err; };
  EXPECT_THAT(notes({"--expert-copies", "--disk-gbps", "5"}),
              HasSubstr("no use here for --expert-copies, --disk-gbps: no experts move (--expert-budget)"));
  EXPECT_THAT(notes({"--expert-budget", "25%", "--expert-policy", "lru", "--insert", "miss"}),
              HasSubstr("no use here for --expert-policy, --insert: no experts are copied (--expert-copies)"));
  EXPECT_THAT(notes({"--expert-budget", "25%", "--expert-prefetch", "on", "--prefetch-layers", "1"}),
              HasSubstr("no use here for --expert-prefetch, --prefetch-layers: "));
  EXPECT_THAT(notes({"--expert-budget", "25%", "--disk-gbps", "5"}), Not(HasSubstr("no use")));
  EXPECT_THAT(notes({"--expert-budget", "38%", "--expert-copies", "--expert-policy", "lru", "--insert", "miss",
                     "--expert-prefetch", "on", "--link-gbps", "5"}),
              Not(HasSubstr("no use")));
}

TEST_F(MovingExpertsCommands, refuse_budgets_above_the_memory_of_the_machine) {
  for (const char* flag : {"--expert-budget", "--host-budget"}) {
    const Ended ended = tandem(run({flag, "100000GiB"}), caches_);
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("the budget is above what there is: " + std::string(flag)));
  }
}

TEST_F(MovingExpertsCommands, copy_experts_ahead_and_insert_misses_without_another_text) {
  const Arguments copies{"--expert-copies", "--expert-budget", "38%", "--plan", "moe-lru"};
  const json plain = answer({});
  const json ahead = json_of(divided_run(copies + Arguments{"--expert-prefetch", "on", "--insert", "miss"}), caches_);
  EXPECT_EQ(ahead.at("text"), plain.at("text"));
  const json& lanes = ahead.at("expert_store").at("lanes");
  EXPECT_EQ(lanes.at("insert"), "miss");
  EXPECT_GT(lanes.at("text").at("passes_with_prefetch"), 0);
  EXPECT_GE(lanes.at("prompts").at("passes_with_prefetch"), 0);
  EXPECT_EQ(lanes.at("text").at("passes_with_deep_prefetch"), lanes.at("text").at("passes_with_prefetch"));
  const json near =
      json_of(divided_run(copies + Arguments{"--expert-prefetch", "on", "--prefetch-layers", "1", "--insert", "miss"}),
              caches_);
  EXPECT_EQ(near.at("text"), plain.at("text"));
  EXPECT_EQ(near.at("expert_store").at("lanes").at("text").at("passes_with_deep_prefetch"), 0);
  EXPECT_EQ(tandem(divided_run({"--prefetch-layers", "4"}), caches_).status, 2);
  EXPECT_GE(lanes.at("text").at("measured").at("experts_ms"), 0);
  const json off = json_of(divided_run(copies + Arguments{"--expert-prefetch", "off"}), caches_);
  EXPECT_EQ(off.at("text"), plain.at("text"));
  EXPECT_EQ(off.at("expert_store").at("lanes").at("text").at("passes_with_prefetch"), 0);
  EXPECT_EQ(off.at("expert_store").at("lanes").at("insert"), "transfer");
}

TEST_F(MovingExpertsCommands, read_experts_no_faster_than_a_slow_disk) {
  const json slow = answer({"--expert-budget", "25%", "--disk-gbps", "0.01"});
  const json& text = slow.at("expert_store").at("text");
  EXPECT_EQ(slow.at("expert_store").at("disk_gbps"), 0.01);
  EXPECT_EQ(slow.at("text"), answer({}).at("text"));
  // Some reads begin while another wave is computed.
  EXPECT_GE(text.at("waited_ms").get<double>(), 0.5 * text.at("read_bytes").get<double>() / 0.01e9 * 1e3);
  EXPECT_THAT(tandem(run({"--expert-budget", "25%", "--disk-gbps", "0.01"}), caches_).err,
              HasSubstr("reads of experts are slowed down to 0.01 GB/s"));
}

TEST_F(MovingExpertsCommands, keep_the_most_used_experts_for_the_next_run) {
  const Arguments quarter{"--expert-budget", "25%"}, off{"--hot-experts", "off"};
  const json plain = answer({});
  EXPECT_EQ(answer(quarter + off).at("expert_store").at("hot_loads"), 0);
  const fs::path hot = kept().string() + ".hot";
  EXPECT_FALSE(fs::exists(hot));
  EXPECT_EQ(answer(quarter + Arguments{"--hot-experts", "on"}).at("expert_store").at("hot_read_bytes"), 0);
  EXPECT_TRUE(fs::exists(hot));
  EXPECT_EQ(answer(quarter).at("ids"), plain.at("ids"));
  EXPECT_THAT(tandem(run(quarter), caches_).err, HasSubstr("earlier runs used most are read in the background"));
  EXPECT_THAT(tandem(run(quarter + off), caches_).err, Not(HasSubstr("earlier runs")));
  EXPECT_EQ(tandem(run({"--hot-experts", "maybe"}), caches_).status, 2);
}

// A state that was saved with all experts in memory goes on with a quarter of them, and the other way round.
TEST_F(MovingExpertsCommands, go_on_from_saved_states_of_other_budgets) {
  const std::string state = folder_.file("state");
  const Arguments all, quarter = {"--expert-budget", "25%"};
  const std::string longer = "Once upon a time there was" + answer({}).at("text").get<std::string>();
  const auto goes_on = [&](const Arguments& more) {
    return json_of(Arguments{"run", "-m", model_, "-p", longer, "-n", "8", "--temp", "0"} + on_host() + more, caches_);
  };
  const json expected = goes_on({});
  for (const auto& [saving, loading] :
       {std::pair{all, quarter}, std::pair{quarter, all}, std::pair{quarter, quarter}}) {
    answer(saving + Arguments{"--save-state", state});
    const json found = goes_on(loading + Arguments{"--load-state", state});
    EXPECT_EQ(found.at("ids"), expected.at("ids"));
    EXPECT_GT(found.at("timings").at("kept_tokens").get<int>(), 0);
  }
}

TEST_F(MovingExpertsCommands, write_the_same_text_with_drafts_and_beside_other_texts) {
  const json plain = answer({});
  const json drafted = answer({"--spec", "sam", "--draft-max", "6", "--expert-budget", "25%"});
  EXPECT_EQ(drafted.at("ids"), plain.at("ids"));
  EXPECT_GT(drafted.at("timings").at("draft_n").get<int>(), 0) << drafted.at("spec");
  const std::string lines = folder_.write("prompts.jsonl",
                                          "{\"prompt\": \"Once upon\"}\n{\"prompt\": \"The dog\"}\n"
                                          "{\"prompt\": \"Once upon a time there was\"}\n");
  const Arguments many =
      Arguments{"run", "-m", model_, "--jsonl", lines, "-n", "12", "--temp", "0", "-np", "3"} + on_host();
  const std::string together = tandem(many, caches_).out;
  EXPECT_EQ(std::ranges::count(together, '\n'), 3);
  const auto texts = [](const std::string& out) {
    std::map<int, std::string> found;
    std::istringstream lines_of(out);
    for (std::string line; std::getline(lines_of, line);) {
      const json one = json::parse(line);
      found[one.at("line").get<int>()] = one.at("text");
    }
    return found;
  };
  EXPECT_EQ(texts(tandem(many + Arguments{"--expert-budget", "25%"}, caches_).out), texts(together));
}

TEST_F(MovingExpertsCommands, read_the_file_that_pack_wrote) {
  const std::string file = folder_.file("model.packed");
  const json packed = json_of({"pack", "-m", model_, "-o", file, "-t", "2"}, caches_);
  EXPECT_EQ(packed.at("bytes"), fs::file_size(file));
  EXPECT_EQ(packed.at("records"), 2 * 8);
  const json plain = answer({});
  for (const Arguments& how : {Arguments{"--packed", file}, Arguments{"--packed", file, "--expert-budget", "25%"}})
    EXPECT_EQ(answer(how).at("text"), plain.at("text"));
  EXPECT_EQ(kept(), fs::path(file)) << "nothing was kept beside it";
  EXPECT_THAT(tandem({"pack", "-m", model_, "-o", file, "-v"}, caches_).out, HasSubstr("of which 16 experts take"));
  answer({"--expert-budget", "25%"});
  fs::remove(file);
  EXPECT_EQ(content_of(kept()).size(), packed.at("bytes").get<size_t>());
}

TEST_F(MovingExpertsCommands, do_not_advise_to_write_over_the_model) {
  const Ended ended = tandem(run({"--packed", model_}), caches_);
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("it is the model itself"));
  EXPECT_THAT(ended.err, Not(HasSubstr("Make it again")));
}

TEST_F(MovingExpertsCommands, refuse_packed_files_of_other_models_and_targets_that_are_no_files) {
  const std::string file = folder_.file("other.packed");
  EXPECT_EQ(tandem({"pack", "-m", stories(), "-o", file, "-q"}, caches_).status, 0);
  const Ended other = tandem(run({"--packed", file}), caches_);
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr(file));
  EXPECT_THAT(other.err, HasSubstr("tandem pack -m " + model_));
  EXPECT_EQ(tandem(run({"--packed", folder_.file("absent")}), caches_).status, 1);
  for (const std::string& target : {std::string("/dev/null"), folder_.file("")}) {
    const Ended refused = tandem({"pack", "-m", model_, "-o", target}, caches_);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr(target == "/dev/null" ? "regular file" : "It is a folder; name a file"));
  }
  EXPECT_EQ(tandem({"pack", "-m", model_, "-o", folder_.file("no/such/folder")}, caches_).status, 1);
  const Ended dense =
      tandem(Arguments{"run", "-m", stories(), "-p", "a", "-n", "1", "--expert-budget", "50%"} + on_host(), caches_);
  EXPECT_EQ(dense.status, 1);
  EXPECT_THAT(dense.err, HasSubstr("has no experts that could move"));
}

}  // namespace
}  // namespace tandem::testing
