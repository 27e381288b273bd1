#include "bench/regret/play.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "bench/engines.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/device/operators/kv_cache.h"
#include "engine/plan/prediction/statistics.h"
#include "engine/run/choice/contention.h"
#include "engine/run/engine.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::bench {
namespace {

// The host's own loops are the reference for bits. Warm-up lengths begin small, since most passes are short.
constexpr const char* kReference = "host-only";
constexpr int64_t kWarmUpLengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256};
constexpr int kVerifyEvery = 10;
// A plan that is this much slower than another one at the same pass is not the best there, whatever a repetition says.
constexpr double kFarSlower = 2;

// An engine in a text with a fixed token at each position. The text before a position never changes, so every engine
// has the same logits for a pass, however it got there.
struct Seat {
  std::string plan;
  std::unique_ptr<Engine> engine;
  Sequence longest = engine->cache().new_sequence();  // all that was read so far
  Sequence text = engine->cache().new_sequence();     // the beginning of it that the present pass continues
  bool left = false;                                  // too slow at every length

  // Makes the text in front of a pass. The page that both texts would write is copied here, so that the pass takes no
  // time for it. A device that cannot copy pages reads the rest of a page again.
  void go_to(const Pass& pass, std::span<const int32_t> all) {
    if (text.position() > longest.position()) longest = std::move(text);
    text = engine->cache().fork(longest, pass.depth);
    if (const auto there = static_cast<size_t>(text.position()); text.position() < pass.depth)
      extend(*engine, text, all.subspan(there, static_cast<size_t>(pass.depth) - there));
    engine->cache().make_room(text, pass.tokens);
  }
};

std::span<const int32_t> tokens_of(const Pass& pass, const std::vector<int32_t>& text) {
  return std::span(text).subspan(static_cast<size_t>(pass.depth), static_cast<size_t>(pass.tokens));
}

// One model's game: seats of named plans, and seats of players.
class Table {
 public:
  Table(const PlayOptions& options, Game& game) : options_(options), game_(game) {}

  // Opens all named plans. A plan that these devices cannot run is noted and left out.
  void open() {
    PassRequest request = options_.passes;
    for (const std::string& plan : options_.plans) sit_down(plan);
    if (named_.empty()) throw Error("no plan can be opened", options_.model);
    const Engine& first = *named_.front().engine;
    first.machine().take_orchestrators_core();  // this thread sleeps while a pass runs
    context_ = request.context;
    request.longest = std::min(request.longest, first.sizes().tokens);
    text_ = some_ids(first.model().config().vocabulary, context_);
    game_.passes = random_passes(request);
    same_bits_ =
        std::ranges::all_of(named_, [](const Seat& seat) { return seat.engine->contract().other_bits.empty(); });
    if (!same_bits_) game_.notes.push_back("plans may give other bits on these devices: nothing was verified");
  }

  // Fills contexts, learns rates, compiles programs, and compares logits.
  void warm_up() {
    std::vector<std::vector<double>> seconds(named_.size());
    std::vector<Pass> passes;
    for (const int64_t tokens : kWarmUpLengths) {
      const int64_t S = std::min({tokens, named_.front().engine->sizes().tokens, context_});
      for (const int64_t depth : {int64_t{0}, context_ / 2}) passes.push_back({S, std::min(depth, context_ - S)});
    }
    verify_equal_short();
    for (size_t s = 0; s < named_.size(); ++s) {
      Seat& seat = named_[s];
      extend(*seat.engine, seat.longest, text_);
      for (const Pass& pass : passes) {
        time(seat, pass);
        seconds[s].push_back(time(seat, pass).run_seconds);
      }
    }
    leave_far_slower_plans(seconds);
  }

  // A player begins without measurements, and perhaps without compiled programs, like a first user.
  void seat_players() {
    for (int i = 0; i < options_.repetitions; ++i) {
      const std::string folder = options_.scratch + "/player" + std::to_string(i);
      std::filesystem::create_directories(folder);
      EngineOptions player = engine_options("auto");
      player.measurements = folder + "/measured.json";
      if (options_.empty_programs) player.program_folder = folder;
      players_.push_back({"auto", Engine::open(player)});
    }
    game_.played.resize(players_.size());
  }

  // Runs one pass by every player and every named plan, in turns: each round and each pass begins with another plan.
  void play_pass(const Pass& pass, size_t number) {
    HindsightPass samples;
    for (int round = 0; round < options_.repetitions; ++round) {
      const size_t player = (static_cast<size_t>(round) + number) % players_.size();
      for (size_t i = 0; i < named_.size(); ++i) {
        if (i == number % named_.size()) play_one(player, pass, number);
        time_named(named_[(i + number + static_cast<size_t>(round)) % named_.size()], pass, samples);
      }
    }
    game_.hindsight.push_back(std::move(samples));
  }

 private:
  // Named plans neither try other plans nor learn from files, so they stay what their name says.
  EngineOptions engine_options(const std::string& plan) const {
    EngineOptions options;
    options.model_path = options_.model;
    options.devices = options_.devices;
    options.plan = plan;
    options.act = options_.act;
    options.context = options_.passes.context + options_.passes.longest + kCachePage;  // room for a pass's own pages
    options.plan_hooks.tries_plans = false;                                            // only for named plans
    options.measurements = "";
    options.program_folder = gpu::default_cache_folder();
    return options;
  }

  // A plan that this machine cannot run is left out with a note.
  void sit_down(const std::string& plan) {
    EngineOptions options = engine_options(plan);
    if (plan == kReference) options.devices = {"host"};
    try {
      named_.push_back({plan, Engine::open(options)});
    } catch (const Error& error) {
      game_.notes.push_back("plan " + plan + " is left out: " + error.what());
    }
  }

  // Preparing and running are timed apart: a user pays for both only once.
  PlayedPass time(Seat& seat, const Pass& pass) {
    seat.go_to(pass, text_);
    const double start = now_seconds();
    seat.engine->prewarm(pass.depth, pass.tokens);
    const double ready = now_seconds();
    extend(*seat.engine, seat.text, tokens_of(pass, text_));
    return {seat.plan, ready - start, now_seconds() - ready};
  }

  // A plan that was far slower in this pass is not repeated in it, which halves the bench's time.
  void time_named(Seat& seat, const Pass& pass, HindsightPass& samples) {
    if (seat.left) return;
    PlanTimes& own = samples[seat.plan];
    if (!own.run_seconds.empty()) {
      double least = own.run_seconds.front();
      for (const auto& [plan, others] : samples) {
        if (!others.run_seconds.empty()) least = std::min(least, median(others.run_seconds));
      }
      if (median(own.run_seconds) > kFarSlower * least) return;
    }
    const PlayedPass timed = time(seat, pass);
    if (own.run_seconds.empty()) own.ready_seconds = timed.ready_seconds;  // later runs find it prepared
    own.run_seconds.push_back(timed.run_seconds);
  }

  // A player's pass is like a user's: once, with whatever choosing and preparing takes.
  void play_one(size_t player, const Pass& pass, size_t number) {
    Seat& seat = players_[player];
    seat.go_to(pass, text_);
    seat.engine->plans().ran().clear();
    const double start = now_seconds();
    seat.engine->prewarm(pass.depth, pass.tokens);
    const double ready = now_seconds();
    const Logits logits = extend(*seat.engine, seat.text, tokens_of(pass, text_));
    const double end = now_seconds();
    game_.played[player].push_back({seat.engine->plans().ran().list().back().plan, ready - start, end - ready});
    if (number % kVerifyEvery == 0 && same_bits_) verify(pass, seat.engine->plans().ran().list().back().plan, logits);
  }

  // Logits must have the reference's bits. A faster plan with other numbers would be no plan.
  void verify(const Pass& pass, const std::string& plan, std::span<const float> logits) {
    Seat& reference = named_.front();
    reference.go_to(pass, text_);
    const Logits expected = extend(*reference.engine, reference.text, tokens_of(pass, text_));
    if (std::memcmp(expected.data(), logits.data(), expected.values().size_bytes()) != 0)
      throw Error("plans disagree, so there is nothing to compare", reference.plan + " and auto (" + plan + "), " +
                                                                        std::to_string(pass.tokens) + " tokens after " +
                                                                        std::to_string(pass.depth));
    ++game_.verified;
  }

  // Short passes are compared before anything is timed, by all plans and the host's loops.
  void verify_equal_short() {
    if (!same_bits_) return;
    EngineOptions options = engine_options(kReference);
    options.devices = {"host"};
    std::vector<std::unique_ptr<Engine>> engines;
    engines.push_back(Engine::open(options));
    for (Seat& seat : named_) engines.push_back(std::move(seat.engine));
    for (const size_t tokens : {size_t{1}, size_t{5}, size_t{40}})
      verify_equal(engines, std::span(text_).first(std::min(tokens, text_.size() - 1)));
    for (size_t i = 0; i < named_.size(); ++i) named_[i].engine = std::move(engines[i + 1]);
  }

  // A plan that is four times as slow at every length is not run at all.
  void leave_far_slower_plans(const std::vector<std::vector<double>>& seconds) {
    for (size_t s = 0; s < named_.size(); ++s) {
      bool competes = false;
      for (size_t i = 0; i < seconds[s].size(); ++i) {
        double least = seconds[s][i];
        for (const auto& others : seconds) least = std::min(least, others[i]);
        competes = competes || seconds[s][i] <= 2 * kFarSlower * least;
      }
      if (competes) continue;
      named_[s].left = true;
      game_.notes.push_back("plan " + named_[s].plan +
                            " is left out: it is four times as slow as another one or more, " + "whatever the length");
    }
  }

  const PlayOptions& options_;
  Game& game_;
  std::vector<Seat> named_, players_;
  std::vector<int32_t> text_;
  int64_t context_ = 0;
  bool same_bits_ = true;
};

}  // namespace

// The watch tells later whether other programs had the cores.
Game play(const PlayOptions& options, const std::function<void(size_t done)>& progress) {
  Game game;
  Table table(options, game);
  table.open();
  table.warm_up();
  table.seat_players();
  const ContentionWatch watch;
  for (size_t i = 0; i < game.passes.size(); ++i) {
    table.play_pass(game.passes[i], i);
    if (progress) progress(i + 1);
  }
  game.contended = watch.found();
  return game;
}

}  // namespace tandem::bench
