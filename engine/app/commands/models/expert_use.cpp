// `tandem trace-moe` and `tandem calibrate-moe`: which experts the tokens of a text go to. Both read texts in windows
// and watch the routers. One writes every choice, and the other only counts.
#include "engine/app/commands/models/expert_use.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/app/commands/open_engine.h"
#include "engine/app/commands/text/tokenize.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/app/text_input.h"
#include "engine/device/registry.h"
#include "engine/moe/calibration.h"
#include "engine/moe/expert_guess.h"
#include "engine/moe/near_ties.h"
#include "engine/moe/routing_trace.h"
#include "engine/run/engine.h"
#include "sync/error.h"
#include "sync/output_file.h"

namespace tandem::app {
namespace {

// A file's windows. Files stay apart, so that a trace can tell its sequences apart.
struct Text {
  std::string name;  // its file
  std::vector<Window> windows;
};

// A FIFO is read like a text, because its writer may have to be waited for.
RoutingTrace routing_of(const std::string& path) {
  if (path != "-" && std::filesystem::is_regular_file(path)) return read_routing_trace(path);
  std::istringstream lines(read_file(path));
  return parse_routing_trace(lines, path);
}

// A line is a whole window, however long it is. Empty lines are skipped.
std::vector<Window> windows_of_ids(const std::string& path, int64_t vocabulary) {
  std::vector<Window> windows;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    Window window = parse_ids(line, vocabulary);
    if (!window.empty()) windows.push_back(std::move(window));
  }
  return windows;
}

// One device computes everything, with f32 activations and cache. So the counts are the model's, without the effect of
// rounding. The device is the first GPU that the user named, or the host: an NPU multiplies 16-bit floats.
CommonFlags exact_flags(const CommonFlags& flags, int64_t guess_layers) {
  CommonFlags exact = flags;
  exact.act = exact.cache_type = "f32";
  exact.engine.guess_layers = guess_layers;
  const auto named = [&](DeviceKind kind) {
    const auto found =
        std::ranges::find_if(flags.engine.devices, [&](const auto& id) { return device_kind(id) == kind; });
    return found == flags.engine.devices.end() ? std::string() : *found;
  };
  const std::string gpu = flags.engine.devices.empty() ? best_gpu() : named(DeviceKind::gpu);
  const std::string host = named(DeviceKind::host).empty() ? first_device(DeviceKind::host) : named(DeviceKind::host);
  exact.engine.devices = {gpu.empty() ? host : gpu};
  exact.engine.plan = gpu.empty() ? "host-only" : "gpu-only";
  if (gpu.empty() && !flags.engine.devices.empty() && named(DeviceKind::host).empty() && !flags.quiet())
    std::fprintf(stderr, "note: %s computes what is counted: an NPU rounds to 16 bits\n", host.c_str());
  return exact;
}

// An engine and the texts that it will read. Files of ids are read first, because they determine the longest window.
struct Session {
  std::unique_ptr<Engine> engine;
  std::vector<Text> texts;
};

// The context holds the longest window, and every token gets logits so that they can be checked.
Session open_with_experts(const CommonFlags& flags, const ExpertUseFlags& own) {
  // The header alone tells whether there are experts. So a wrong model is refused before its weights are loaded.
  const ModelConfig config = read_config(GgufFile::open(flags.model));
  if (!config.experts)
    throw Error("the model has no experts", flags.model, "calibrate-moe and trace-moe are for mixtures of experts");
  std::vector<Text> of_ids;
  int64_t longest = own.window;
  for (const std::string& path : own.ids_files) {
    of_ids.push_back({path, windows_of_ids(path, config.vocabulary)});
    for (const Window& window : of_ids.back().windows) longest = std::max(longest, static_cast<int64_t>(window.size()));
  }
  // A chunk and its rows of logits have one size, because every token gets logits. The size bounds the memory
  // for logits.
  const int64_t piece = std::min<int64_t>(longest, 256);
  Session session{open_engine(exact_flags(flags, own.guess), {longest, piece, piece}), {}};
  print_notes(flags, *session.engine);
  for (const std::string& path : own.texts)
    session.texts.push_back({path, windows_of_text(session.engine->model().tokenizer(), read_file(path), own.window)});
  std::ranges::move(of_ids, std::back_inserter(session.texts));
  for (const Text& text : session.texts) {
    if (text.windows.empty()) throw Error("there is nothing to read", text.name, "Give a text of at least one token");
  }
  return session;
}

// Calls each(first, layers) for every pass over a window. layers: the routing of its tokens from `first` on.
void read_window(Engine& engine, const Window& window,
                 const std::function<void(int64_t first, const std::vector<RoutedLayer>& layers)>& each) {
  Sequence text = engine.cache().new_sequence();
  const auto look = [&](int64_t first, std::span<const float> logits) {
    require_finite(engine, logits, first);  // otherwise the router would choose any expert
    each(first, engine.routing());
  };
  extend_all(engine, text, window, look, until_interrupted());
}

// Progress over all tokens of all windows.
class Reading {
 public:
  // The bar counts tokens of all texts, because texts differ much in length.
  Reading(const CommonFlags& flags, const std::vector<Text>& texts)
      : progress_("reading", ProgressUnit::tokens, !flags.quiet() && Progress::stderr_is_terminal()) {
    for (const Text& text : texts)
      for (const Window& window : text.windows) total_ += window.size();
  }
  void add(const Window& window) { progress_.update(done_ += window.size(), total_); }
  void clear() { progress_.clear(); }

 private:
  Progress progress_;
  uint64_t done_ = 0, total_ = 0;
};

// Counts for each window of each text, or for each sequence of each file of recorded routing.
struct CountedText {
  std::string name;  // name of its file
  std::vector<RoutingCounts> windows;
};
struct Counted {
  std::string model;
  RoutingCounts none;  // the shape of the counts, all zero
  std::vector<CountedText> texts;
  RouterMargins margins;  // only for a model that ran
};

// Counts each window by itself, because overlaps between windows are reported too. In every layer all tokens of a pass
// are routed, because all of them get logits. So the first layer tells the number of tokens.
std::vector<CountedText> count_windows(const CommonFlags& flags, Engine& engine, const std::vector<Text>& texts,
                                       RouterMargins& margins) {
  Reading reading(flags, texts);
  std::vector<CountedText> all;
  for (const Text& text : texts) {
    CountedText& of_text = all.emplace_back(CountedText{text.name, {}});
    for (const Window& window : text.windows) {
      RoutingCounts& counts = of_text.windows.emplace_back(no_counts(engine.model().config()));
      read_window(engine, window, [&](int64_t, const std::vector<RoutedLayer>& layers) {
        counts.tokens += layers.front().tokens;
        for (size_t l = 0; l < layers.size(); ++l) {
          count_choices(counts, l, layers[l].ids);
        }
        add_margins(margins, engine);
      });
      reading.add(window);
    }
  }
  reading.clear();
  return all;
}

// Runs the texts through the model. The other way to counts is a trace that was recorded before.
Counted count_texts(const CommonFlags& flags, const ExpertUseFlags& own) {
  const auto [engine, texts] = open_with_experts(flags, own);
  Counted counted{engine->model().config().name, no_counts(engine->model().config()), {}, {}};
  counted.texts = count_windows(flags, *engine, texts, counted.margins);
  return counted;
}

// Error if the files are of different models.
Counted count_recorded(const std::vector<std::string>& paths) {
  Counted counted;
  for (const std::string& path : paths) {
    const RoutingTrace trace = routing_of(path);
    RoutingCounts none = empty_counts(trace.experts, trace.used, trace.layers);
    if (!counted.texts.empty() && (trace.model != counted.model || none != counted.none))
      throw Error("recorded routing of another model", path,
                  "It is of '" + trace.model + "', " + counted.texts.front().name + " is of '" + counted.model + "'");
    counted.model = trace.model;
    counted.none = std::move(none);
    counted.texts.push_back({path, counts_by_sequence(trace)});
  }
  return counted;
}

RoutingCounts total_of(const std::vector<RoutingCounts>& windows, RoutingCounts total) {
  for (const RoutingCounts& window : windows) total = sum_of(total, window);
  return total;
}

// N1: how well half of a text's windows predict the other half, and how well one text predicts another. Windows of even
// number are the calibration and those of odd number the unseen inputs. They alternate, so that a change of topic
// within the text reaches both halves. Overlap@K is the share of the K most popular experts that both have in common.
nlohmann::json overlaps(const Counted& counted) {
  const std::vector<CountedText>& texts = counted.texts;
  std::vector<RoutingCounts> wholes;
  for (const CountedText& text : texts) wholes.push_back(total_of(text.windows, counted.none));
  nlohmann::json rows = nlohmann::json::array();
  for (const int64_t K : {4, 8}) {
    // The K most popular experts would be all of them, and the overlap always 1.
    if (K >= counted.none.experts) continue;
    for (size_t a = 0; a < texts.size(); ++a) {
      std::vector<RoutingCounts> seen, unseen;
      for (size_t w = 0; w < texts[a].windows.size(); ++w) (w % 2 == 0 ? seen : unseen).push_back(texts[a].windows[w]);
      if (!unseen.empty())
        rows.push_back({{"calibrated_on", texts[a].name},
                        {"judged_on", texts[a].name + ", windows not seen"},
                        {"k", K},
                        {"overlap", overlap_on(total_of(seen, counted.none), unseen, K)}});
      for (size_t b = 0; b < texts.size(); ++b) {
        if (a == b) continue;
        rows.push_back({{"calibrated_on", texts[a].name},
                        {"judged_on", texts[b].name},
                        {"k", K},
                        {"overlap", overlap_on(wholes[a], std::span(&wholes[b], 1), K)}});
      }
    }
  }
  return rows;
}

// Imbalance is the busiest expert's load over the mean load. An even layer has 1.
void print_calibration(const Calibration& calibration, const nlohmann::json& overlap_rows) {
  const RoutingCounts& counts = calibration.counts;
  std::printf("%lld tokens, %lld of %lld experts each\n", static_cast<long long>(counts.tokens),
              static_cast<long long>(counts.used), static_cast<long long>(counts.experts));
  std::printf("layer  imbalance  most popular\n");
  for (size_t l = 0; l < counts.layers.size(); ++l) {
    std::printf("%5lld  %9.2f ", static_cast<long long>(counts.layers[l]), imbalance(counts.counts[l]));
    const auto popular = by_popularity(counts.counts[l]);
    for (size_t i = 0; i < std::min<size_t>(4, popular.size()); ++i)
      std::printf(" %lld", static_cast<long long>(popular[i]));
    std::printf("\n");
  }
  for (const auto& row : overlap_rows)
    std::printf("overlap of the top %d: %.1f %%, calibrated on %s, judged on %s\n", row.at("k").get<int>(),
                100 * row.at("overlap").get<double>(), row.at("calibrated_on").get<std::string>().c_str(),
                row.at("judged_on").get<std::string>().c_str());
}

// Flags that both commands share. The name of the output is the only one that means something else in each.
void add_flags(CLI::App& app, CommonFlags& flags, ExpertUseFlags& own, const char* output) {
  add_model_flag(app, flags);
  reads_file(app.add_option("-f,--file", own.texts, "texts to read, byte for byte; several are told apart"));
  reads_file(app.add_option("--ids", own.ids_files, "files of token ids: each line is a window, used as it is"));
  app.add_option("--window", own.window, "tokens that are read together; a longer text is cut into windows")
      ->transform(whole({2, int64_t{1} << 20}))
      ->capture_default_str();
  writes_file(app.add_option("-o,--output", own.output, output))->required();
  add_device_flag(app, flags);
  add_threads_flag(app, flags.engine.threads);
  add_output_flags(app, flags);
}

bool names_a_text(const ExpertUseFlags& own) { return !own.texts.empty() || !own.ids_files.empty(); }

}  // namespace

// A small margin means that another rounding may choose another expert. Reports give the number of such choices beside
// their figures.
void add_margins(RouterMargins& margins, const Engine& engine) {
  for (const RoutedLayer& layer : engine.routing()) {
    const ExpertsConfig& experts = *engine.model().config().experts;
    add_margins(margins, layer.scores, layer.scores_stride, experts.count,
                router_rule(engine.model().model(), layer.layer));
  }
}

// Counts come from texts that a model reads, or from recorded routing, and not from both. So -m is required only
// with texts.
void add_calibrate_moe(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<ExpertUseFlags>>();
  ExpertUseFlags& own = flags->own;
  add_flags(app, flags->common, own, "the calibration: a .json file");
  app.get_option("--model")->required(false);
  reads_file(
      app.add_option("--routing", own.recorded,
                     "recorded routing to count, files of trace-moe; no model runs, and -m and texts are not needed"));
  app.callback([flags, &action, &app] {
    const bool recorded = !flags->own.recorded.empty();
    if (recorded == names_a_text(flags->own))
      throw CLI::ValidationError("give texts to read, -f FILE or --ids FILE, or --routing FILE");
    if (recorded && is_given(*app.get_option("--model"))) throw CLI::ExcludesError("--routing", "--model");
    if (!recorded && flags->common.model.empty()) throw CLI::RequiredError("--model");
    action = [flags] { return calibrate_moe_command(flags->common, flags->own); };
  });
}

// Texts can come as bytes or as ids, so one of two flags must be there. CLI11 has no rule for that.
void add_trace_moe(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<ExpertUseFlags>>();
  add_flags(app, flags->common, flags->own, "the trace: a .jsonl file");
  app.add_flag("--scores", flags->own.scores, "record the softmax over all experts of each layer too");
  app.add_option("--guess", flags->own.guess,
                 "report how well each layer guesses the experts of so many later layers, by their own routers")
      ->transform(whole({0, 64}))
      ->capture_default_str();
  app.callback([flags, &action] {
    if (!names_a_text(flags->own)) throw CLI::ValidationError("give a text to read: -f FILE, or --ids FILE");
    action = [flags] { return trace_moe_command(flags->common, flags->own); };
  });
}

// The calibration sums over all texts; the overlaps compare them with each other.
int calibrate_moe_command(const CommonFlags& flags, const ExpertUseFlags& own) {
  apply_verbosity(flags);
  const Counted counted = own.recorded.empty() ? count_texts(flags, own) : count_recorded(own.recorded);
  Calibration calibration{counted.model, counted.none};
  for (const CountedText& text : counted.texts)
    calibration.counts = sum_of(calibration.counts, total_of(text.windows, counted.none));
  write_output(own.output, calibration_json(calibration), while_unread(own.output));
  const nlohmann::json overlap_rows = overlaps(counted);
  if (flags.json) {
    nlohmann::json out = nlohmann::json::parse(calibration_json(calibration));
    out["overlap"] = overlap_rows;
    if (own.recorded.empty()) out["router"] = router_json(counted.margins);
    out["output"] = own.output;
    print_json(out);
  } else {
    print_calibration(calibration, overlap_rows);
  }
  return kDone;
}

namespace {

// The row of token s in values of `width` each.
template <typename T>
std::span<const T> row_of(std::span<const T> values, int64_t s, int64_t width) {
  return values.subspan(static_cast<size_t>(s * width), static_cast<size_t>(width));
}

// Copies one token's rows of all layers, because the buffers of the pass are written over by the next one.
TracedToken traced(const std::vector<RoutedLayer>& layers, int64_t s, const RoutingCounts& shape, bool scores) {
  TracedToken token;
  for (const RoutedLayer& layer : layers) {
    const auto ids = row_of(layer.ids, s, shape.used);
    const auto weights = row_of(layer.weights, s, shape.used);
    token.experts.emplace_back(ids.begin(), ids.end());
    token.weights.emplace_back(weights.begin(), weights.end());
    // A gate of shared experts lies behind the scores.
    const auto all = row_of(layer.scores, s, layer.scores_stride).first(static_cast<size_t>(shape.experts));
    if (scores) token.scores.push_back(softmax_of(all));
  }
  return token;
}

// Y3: guesses of each layer against the choices of the layers behind it. hits[d]: those d + 1 layers ahead.
void add_guesses(std::vector<GuessHits>& hits, const std::vector<RoutedLayer>& layers, const RoutingCounts& shape) {
  for (size_t l = 0; l < layers.size(); ++l) {
    for (size_t d = 0; d < layers[l].guesses.size(); ++d) {
      for (int64_t s = 0; s < layers[l].tokens; ++s) {
        const auto scores = row_of(layers[l].guesses[d], s, layers[l].scores_stride);
        add_guess(hits[d], scores.first(static_cast<size_t>(shape.experts)),
                  row_of(layers[l + d + 1].ids, s, shape.used));
      }
    }
  }
}

// By distance in layers, from 1 on.
nlohmann::json guess_json(const std::vector<GuessHits>& guesses) {
  nlohmann::json object = nlohmann::json::object();
  for (size_t d = 0; d < guesses.size(); ++d)
    object[std::to_string(d + 1)] = {{"hits", guesses[d].hits}, {"of", guesses[d].of}};
  return object;
}

void print_guesses(const std::vector<GuessHits>& guesses) {
  for (size_t d = 0; d < guesses.size(); ++d)
    if (guesses[d].of > 0)
      std::fprintf(stderr, "guessed %zu layer%s ahead: %.1f %% of %lld choices\n", d + 1, d == 0 ? "" : "s",
                   100 * static_cast<double>(guesses[d].hits) / static_cast<double>(guesses[d].of),
                   static_cast<long long>(guesses[d].of));
}

}  // namespace

// Each window is a sequence of the trace. A pass's routing is copied before the next pass overwrites it.
int trace_moe_command(const CommonFlags& flags, const ExpertUseFlags& own) {
  apply_verbosity(flags);
  const auto [engine, texts] = open_with_experts(flags, own);
  const RoutingCounts shape = no_counts(engine->model().config());
  RoutingTrace trace{engine->model().config().name, shape.experts, shape.used, shape.layers, {}};
  Reading reading(flags, texts);
  std::vector<GuessHits> guesses(static_cast<size_t>(own.guess));
  int64_t sequence = 0;
  for (const Text& text : texts) {
    for (const Window& window : text.windows) {
      read_window(*engine, window, [&](int64_t first, const std::vector<RoutedLayer>& layers) {
        for (int64_t s = 0; s < layers.front().tokens; ++s) {
          TracedToken token = traced(layers, s, shape, own.scores);
          token.sequence = sequence, token.position = first + s;
          trace.tokens.push_back(std::move(token));
        }
        add_guesses(guesses, layers, shape);
      });
      reading.add(window);
      ++sequence;
    }
  }
  reading.clear();
  std::ostringstream lines;
  write_routing_trace(trace, lines);
  write_output(own.output, lines.str(), while_unread(own.output));
  if (flags.json) {
    nlohmann::json answer = {{"output", own.output}, {"tokens", trace.tokens.size()}, {"sequences", sequence}};
    if (own.guess > 0) answer["guess"] = guess_json(guesses);
    print_json(answer);
  } else if (!flags.quiet()) {
    std::fprintf(stderr, "%zu tokens of %lld windows in %s\n", trace.tokens.size(), static_cast<long long>(sequence),
                 own.output.c_str());
    print_guesses(guesses);
  }
  return kDone;
}

}  // namespace tandem::app
