// `tandem npu gemm`: one product on the emulated array. The values are compared with a plain loop, and the cycles come
// from the model. With --stepped every value moves from cell to cell, and both ways must give the same bits.
#include "engine/app/commands/models/npu_gemm.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <vector>

#include "engine/app/flag_values.h"
#include "engine/app/report.h"
#include "npu_emu/energy_model.h"
#include "npu_emu/fast_int8.h"
#include "npu_emu/fast_matmul.h"
#include "npu_emu/stepped.h"

namespace tandem::app {

namespace {

using namespace npu_emu;

constexpr PackedFormat kInt4{PackedKind::i4, ScaleKind::half, MinKind::explicit_, 32, 0};

// The results of one run: the array's, and the same product in double precision.
struct Outcome {
  std::vector<float> y;       // of the stepped array with --stepped, else of the fast path
  std::vector<double> plain;  // of a plain loop over the operands that the cells see
  double weight_bytes = 0;
  std::optional<bool> bit_equal;  // stepped against fast
};

// Bits and not values, since 0 and -0 are equal as values.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A plain loop: no blocking, no folds, double precision. The weights are transposed first, so that the inner loop runs
// over neighbouring elements. Every sum still goes through k in ascending order.
template <typename T>
std::vector<double> plain_product(const ProductShape& shape, const std::vector<T>& x, const std::vector<T>& w) {
  std::vector<double> columns(static_cast<size_t>(shape.k * shape.n)), y(static_cast<size_t>(shape.m * shape.n));
  for (int64_t n = 0; n < shape.n; ++n)
    for (int64_t k = 0; k < shape.k; ++k)
      columns[static_cast<size_t>(k * shape.n + n)] = static_cast<double>(w[static_cast<size_t>(n * shape.k + k)]);
  for (int64_t s = 0; s < shape.m; ++s) {
    double* row = y.data() + s * shape.n;
    for (int64_t k = 0; k < shape.k; ++k) {
      const double a = static_cast<double>(x[static_cast<size_t>(s * shape.k + k)]);
      const double* weights = columns.data() + k * shape.n;
      for (int64_t n = 0; n < shape.n; ++n) row[n] += weights[n] * a;
    }
  }
  return y;
}

// Random valid panels of the format: halves for fp16; codes with scales and minima for int4. Weights shrink with
// sqrt(K), as in a trained model, so that results stay near 1 at any depth.
std::vector<std::byte> random_panels(const PackedFormat& format, int64_t rows, int64_t columns,
                                     std::mt19937_64& random) {
  const float size = 1 / std::sqrt(static_cast<float>(columns));
  std::uniform_real_distribution<float> uniform(-size, size);
  const size_t bytes = panel_bytes(format, columns);
  std::vector<std::byte> panels(bytes * static_cast<size_t>(panel_count(rows)));
  if (format.dense()) {
    for (size_t i = 0; i < panels.size(); i += sizeof(uint16_t)) {
      const uint16_t half = float_to_half(uniform(random));
      std::memcpy(&panels[i], &half, sizeof(half));
    }
    return panels;
  }
  // Any byte is a valid pair of 4-bit codes, so the whole panel is filled first. Scales and minima then overwrite their
  // places. A minimum is -7.5 scales on average, so that weights have a mean near zero.
  for (std::byte& byte : panels) byte = static_cast<std::byte>(random());
  for (int64_t panel = 0; panel < panel_count(rows); ++panel) {
    std::byte* base = panels.data() + static_cast<size_t>(panel) * bytes;
    for (int64_t tile = 0; tile < columns / kTileColumns; ++tile) {
      const TileView view = tile_view(format, base, tile);
      // tile_view() returns a constant pointer, so the place is computed again from the panel's begin.
      std::byte* scales = base + (reinterpret_cast<const std::byte*>(view.scale) - base);
      for (int64_t i = 0; i < 2 * kPanelRows; ++i) {  // scales, then minima: w within +-2/sqrt(K)
        const uint16_t half = float_to_half((i < kPanelRows ? 0.125f : -0.9375f) * std::abs(uniform(random)));
        std::memcpy(scales + i * static_cast<int64_t>(sizeof(half)), &half, sizeof(half));
      }
    }
  }
  return panels;
}

// cell_weight() gives the value that a cell of the array multiplies with. So the reference product sees rounded
// weights, and its error is that of the sums alone.
std::vector<float> decode_panels(const PackedFormat& format, const std::vector<std::byte>& panels, int64_t rows,
                                 int64_t columns) {
  std::vector<float> w(static_cast<size_t>(rows * columns));
  for (int64_t n = 0; n < rows; ++n) {
    const std::byte* panel = panels.data() + static_cast<size_t>(n / kPanelRows) * panel_bytes(format, columns);
    for (int64_t k = 0; k < columns; ++k)
      w[static_cast<size_t>(n * columns + k)] = cell_weight(format, panel, k, n % kPanelRows);
  }
  return w;
}

// Runs the product cell by cell.
template <typename Mac>
std::vector<typename Mac::Sum> step_through(const NpuParams& params, const ProductShape& shape,
                                            const std::vector<typename Mac::Operand>& x,
                                            const std::vector<typename Mac::Operand>& w) {
  std::vector<typename Mac::Sum> y(static_cast<size_t>(shape.m * shape.n));
  SteppedArray<Mac>(params.array, params.dataflow, {shape, x.data(), w.data(), y.data()}).run();
  return y;
}

// Multiplies random floats on the fast path and, with --stepped, cell by cell. Both must have the same bits.
// Activations are rounded to f16 first, because the array's inputs are. The stepped result replaces the fast one in the
// report, so the printed error is that of the array.
Outcome float_product(const NpuParams& params, const ProductShape& shape, const PackedFormat& format,
                      const NpuGemmFlags& flags) {
  std::mt19937_64 random(flags.seed.value);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(static_cast<size_t>(shape.m * shape.k));
  for (float& value : x) value = round_to_half(uniform(random));
  const std::vector<std::byte> panels = random_panels(format, shape.n, shape.k, random);
  const std::vector<float> w = decode_panels(format, panels, shape.n, shape.k);
  Outcome outcome;
  outcome.weight_bytes = static_cast<double>(panels.size());
  outcome.plain = plain_product(shape, x, w);
  outcome.y.resize(outcome.plain.size());
  fast_matmul({shape.m, shape.k, 0, shape.n, format, panels.data(), x.data(), shape.k, outcome.y.data(), shape.n});
  if (!flags.stepped) return outcome;
  const std::vector<float> stepped = step_through<FloatMac>(params, shape, x, w);
  outcome.bit_equal = same_bits(stepped, outcome.y);
  outcome.y = stepped;
  return outcome;
}

// Multiplies random 8-bit integers. The array sums in int32, and one scale per column turns sums into floats. Integer
// sums are exact, so the order of additions cannot change them. Only the last step rounds.
Outcome int8_product(const NpuParams& params, const ProductShape& shape, const NpuGemmFlags& flags) {
  std::mt19937_64 random(flags.seed.value);
  std::vector<int8_t> x(static_cast<size_t>(shape.m * shape.k)), w(static_cast<size_t>(shape.n * shape.k));
  for (int8_t& value : x) value = static_cast<int8_t>(random());
  for (int8_t& value : w) value = static_cast<int8_t>(random());
  // One scale for all columns maps products of codes back to [-1, 1].
  const std::vector<float> scale(static_cast<size_t>(shape.n), 1.0f / (128 * 128));
  Outcome outcome;
  outcome.weight_bytes = static_cast<double>(w.size());
  outcome.plain = plain_product(shape, x, w);
  outcome.y.resize(outcome.plain.size());
  for (double& value : outcome.plain) value *= static_cast<double>(scale.front());
  fast_int8(shape, x.data(), w.data(), scale.data(), outcome.y.data());
  if (!flags.stepped) return outcome;
  const std::vector<int32_t> sums = step_through<IntMac>(params, shape, x, w);
  std::vector<float> stepped(sums.size());
  std::transform(sums.begin(), sums.end(), stepped.begin(),
                 [&](int32_t sum) { return drain_int8(sum, scale.front()); });
  outcome.bit_equal = same_bits(stepped, outcome.y);
  outcome.y = stepped;
  return outcome;
}

double max_abs_error(const Outcome& outcome) {
  double largest = 0;
  for (size_t i = 0; i < outcome.y.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(outcome.y[i]) - outcome.plain[i]));
  return largest;
}

// Parameters of the file or the built-in ones, overridden by the flags.
NpuParams chip(const NpuGemmFlags& flags) {
  NpuParams params = flags.params.empty() ? NpuParams() : load_params(flags.params);
  if (flags.rows > 0) params.array.rows = flags.rows;
  if (flags.cols > 0) params.array.cols = flags.cols;
  if (!flags.dataflow.empty()) params.dataflow = *dataflow(flags.dataflow);
  return params;
}

// Refuses combinations that no single flag can rule out. They count as wrong usage. The number of elements is compared
// by a division, because a product of two large numbers could overflow.
void check_usage(const NpuGemmFlags& flags) {
  constexpr int64_t kMostElements = int64_t{1} << 28;
  for (const auto& [a, b] : {std::pair(flags.m, flags.k), {flags.n, flags.k}, {flags.m, flags.n}}) {
    if (a > kMostElements / b) throw CLI::ValidationError("-M, -K, -N", "a matrix may have at most 2^28 elements");
  }
  if (flags.format == "int4" && flags.k % kTileColumns != 0) {
    throw CLI::ValidationError("-K", "int4 weights share a scale between 32 columns: K must be a multiple of 32");
  }
  // A product of codes is at most 2^14, and 2^17 of them may exceed an int32.
  if (flags.format == "int8" && flags.k >= int64_t{1} << 17) {
    throw CLI::ValidationError("-K", "int8 products have int32 sums: K must be below 131072");
  }
  if (!flags.stepped) return;
  const NpuParams params = chip(flags);
  // The simulation updates every cell in every cycle, and the cycles are known before it runs.
  const double updates =
      static_cast<double>(count_cycles(params.array, params.dataflow, {flags.m, flags.k, flags.n}).cycles) *
      static_cast<double>(params.array.rows * params.array.cols);
  if (updates > 2e10)
    throw CLI::ValidationError("--stepped", "too large to move cell by cell; take a smaller product or leave it out");
}

// Cycles are counted, times and energies are modelled, and the error is computed from the result. The keys keep their
// order, which is that of the text form: the array, the product, its cycles, its times.
nlohmann::ordered_json report(const NpuParams& params, const ProductShape& shape, NumberFormat format,
                              const Outcome& outcome) {
  const ProductCost cost = product_cost(params, shape, format, outcome.weight_bytes);
  const CycleCount& count = cost.count;
  nlohmann::ordered_json json = {
      {"rows", params.array.rows},
      {"cols", params.array.cols},
      {"dataflow", to_string(params.dataflow)},
      {"format", to_string(format)},
      {"m", shape.m},
      {"k", shape.k},
      {"n", shape.n},
      {"cycles", count.cycles},
      {"folds", count.folds},
      {"fold_cycles", {{"load", count.load}, {"stream", count.stream}, {"skew", count.skew}, {"drain", count.drain}}},
      {"utilization", count.utilization},
      {"mapping_efficiency", count.mapping_efficiency},
      {"compute_utilization", count.compute_utilization},
      {"max_abs_error", max_abs_error(outcome)},
      {"seconds_modelled", cost.seconds},
      {"array_seconds_modelled", cost.array_seconds},
      {"memory_seconds_modelled", cost.memory_seconds},
      {"joules_modelled", cost.joules}};
  json["stepped"] = outcome.bit_equal.has_value();
  if (outcome.bit_equal) json["bit_equal"] = *outcome.bit_equal;
  return json;
}

// Times and energy are those of the described chip, never of this machine, and so they are called modelled.
void print_text(const nlohmann::ordered_json& json) {
  const auto percent = [&](const char* key) { return 100 * json[key].get<double>(); };
  std::cout << std::setprecision(4) << "array          " << json["rows"] << " x " << json["cols"] << ", "
            << json["dataflow"].get<std::string>() << ", " << json["format"].get<std::string>() << "\n"
            << "product        M " << json["m"] << ", K " << json["k"] << ", N " << json["n"] << "\n"
            << "cycles         " << json["cycles"] << " in " << json["folds"] << " folds (load "
            << json["fold_cycles"]["load"] << ", stream " << json["fold_cycles"]["stream"] << ", skew "
            << json["fold_cycles"]["skew"] << ", drain " << json["fold_cycles"]["drain"] << " each)\n"
            << "utilisation    " << percent("utilization") << " % of all cell cycles; cells mapped "
            << percent("mapping_efficiency") << " %\n"
            << "modelled       " << json["seconds_modelled"].get<double>() * 1e6 << " us, "
            << json["joules_modelled"].get<double>() * 1e6 << " uJ\n"
            << "max abs error  " << json["max_abs_error"].get<double>()
            << " against a plain loop in double precision\n";
  if (json.contains("bit_equal")) {
    std::cout << "stepped        " << (json["bit_equal"].get<bool>() ? "equals" : "DIFFERS FROM")
              << " the fast path, bit for bit\n";
  }
}

}  // namespace

// The report is printed before a difference between the two paths is an Error, so that the user sees the figures.
int run_npu_gemm(const NpuGemmFlags& flags) {
  const NpuParams params = chip(flags);
  const ProductShape shape{flags.m, flags.k, flags.n};
  const NumberFormat format = *number_format(flags.format);
  const Outcome outcome =
      format == NumberFormat::int8
          ? int8_product(params, shape, flags)
          : float_product(params, shape, format == NumberFormat::fp16 ? PackedFormat{PackedKind::f16} : kInt4, flags);
  nlohmann::ordered_json json = report(params, shape, format, outcome);
  json["seed"] = flags.seed.value;
  if (flags.json) {
    print_json(json);
  } else {
    print_text(json);
    if (flags.seed.is_drawn) std::cout << describe_drawn(flags.seed) << "\n";
  }
  if (outcome.bit_equal == false) {
    throw Error("the stepped array and the fast path differ", "npu gemm",
                "this is a defect of Tandem; please report the command line");
  }
  return kDone;
}

// The parser refuses wrong ranges and a missing file of the chip, and check_usage() refuses products that
// are too large.
void add_npu_gemm(CLI::App& app, Action& action) {
  auto flags = std::make_shared<NpuGemmFlags>();
  constexpr int64_t kMost = int64_t{1} << 20;
  app.add_option("--rows", flags->rows, "cells down the array; default 64")->transform(whole({1, 4096}));
  app.add_option("--cols", flags->cols, "cells across the array; default 64")->transform(whole({1, 4096}));
  app.add_option("--dataflow", flags->dataflow,
                 "what stays in the cells: ws (weights, default), os (outputs), is (inputs)")
      ->check(CLI::IsMember({"ws", "os", "is"}));
  app.add_option("-M", flags->m, "tokens: rows of the result")->required()->transform(whole({1, kMost}));
  app.add_option("-K", flags->k, "depth: columns of input and weight")->required()->transform(whole({1, kMost}));
  app.add_option("-N", flags->n, "weight rows: columns of the result")->required()->transform(whole({1, kMost}));
  app.add_option("--format", flags->format, "operands: fp16 (default), int8, int4 (4-bit weights, f16 inputs)")
      ->check(CLI::IsMember({"fp16", "int8", "int4"}));
  app.add_option("--params", flags->params, "parameter file of the chip (JSON, docs/npu.md)")->check(CLI::ExistingFile);
  add_seed_flag(app, flags->seed, "seed of the random operands");
  app.add_flag("--stepped", flags->stepped, "also move every value cell by cell and compare; small sizes");
  app.add_flag("--json", flags->json, "one JSON object on stdout");
  app.footer(
      "utilization: useful multiply-adds / (cells x cycles), a fraction from 0 to 1 (SCALE-Sim's overall "
      "utilisation).\n"
      "max_abs_error: the array's result against a plain loop in double precision over the same rounded operands.\n"
      "Times and energies are modelled.");
  app.callback([flags, &action] {
    check_usage(*flags);
    action = [flags] { return run_npu_gemm(*flags); };
  });
}

}  // namespace tandem::app
