// `tandem make-random`: a model file of a published model's shape, with random weights, for measurements.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/app/commands/commands.h"
#include "engine/app/common_flags.h"
#include "engine/app/file_flags.h"
#include "engine/app/flag_values.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "engine/run/engine.h"
#include "sync/long_wait.h"
#include "sync/output_file.h"

namespace tandem::app {
namespace {

// The shape has no default, since every measurement should say which model it is about.
struct MakeRandomFlags {
  std::string shape;          // a published model's name, or a .json or .gguf file
  std::string type = "Q4_0";  // of the matrices
  std::string output;         // path
  Seed seed{1};
};

// Writes the file in pieces. It gets its name only when it is complete. Only a piece of the file is in memory at a
// time, so a model larger than the memory can be written.
void write(const RandomModel& model, const std::string& path, bool quiet) {
  Progress progress("writing", ProgressUnit::bytes, !quiet && Progress::stderr_is_terminal());
  OutputFile file(path, while_unread(path));
  uint64_t written = 0;
  model.write([&](std::span<const std::byte> bytes) {
    if (interrupted()) throw Interrupted();
    file.write(bytes);
    progress.update(written += bytes.size(), model.file_bytes());
  });
  file.commit();
}

// Such a file has the shapes of the published model, so speed and memory can be measured without its weights.
int make_random_command(const CommonFlags& flags, const MakeRandomFlags& own) {
  apply_verbosity(flags);
  const ModelConfig config = model_shape(own.shape);
  const RandomModel model(config, storage_type_named(own.type), own.seed.value);
  write(model, own.output, flags.quiet());
  if (flags.json) {
    print_json({{"file", own.output},
                {"shape", config.name},
                {"architecture", config.architecture},
                {"type", own.type},
                {"seed", own.seed.value},
                {"parameters", model.parameters()},
                {"bytes", model.file_bytes()},
                {"replaced", model.replaced()}});
    return kDone;
  }
  std::printf("%s: %s, %s, %s parameters, %sB; random weights, whose text means nothing\n", own.output.c_str(),
              config.name.c_str(), own.type.c_str(), in_thousands(static_cast<double>(model.parameters())).c_str(),
              in_thousands(static_cast<double>(model.file_bytes()), "G").c_str());
  if (!model.replaced().empty()) {
    std::printf("%zu matrices have another type, because their rows are no whole blocks of %s (the first: %s)\n",
                model.replaced().size(), own.type.c_str(), model.replaced().front().c_str());
  }
  if (own.seed.is_drawn) std::printf("%s\n", describe_drawn(own.seed).c_str());
  return kDone;
}

}  // namespace

// Weights follow from the seed alone, so two machines can measure the same model without copying it.
void add_make_random(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<MakeRandomFlags>>();
  reads_file(
      app.add_option("--shape", flags->own.shape, "a published model (llama-3.2-1b, ...), or a .json or .gguf file"),
      true)
      ->check(shape_or_file())
      ->required();
  app.add_option("--type", flags->own.type, "storage type of the matrices: Q4_0, Q4_K, Q8_0, F16, ...")
      ->check(storage_type())
      ->capture_default_str();
  writes_file(app.add_option("-o,--output", flags->own.output, "the file to write"))->required();
  add_seed_flag(app, flags->own.seed, "seed of the weights; the same seed gives the same file");
  add_output_flags(app, flags->common);
  app.callback([flags, &action] { action = [flags] { return make_random_command(flags->common, flags->own); }; });
}

}  // namespace tandem::app
