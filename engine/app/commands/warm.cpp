// `tandem warm`: compiles a GPU's kernels for a kind of model ahead of time.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/app/commands/commands.h"
#include "engine/app/commands/open_engine.h"
#include "engine/app/common_flags.h"
#include "engine/app/interrupt.h"
#include "engine/app/progress.h"
#include "engine/app/report.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/room.h"
#include "engine/device/registry.h"
#include "engine/run/activation_sizes.h"
#include "engine/run/machine/kernel_set.h"
#include "engine/run/warm_kernels.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

struct WarmFlags {
  bool background = false;
};

// Limit for kept OpenCL programs: those of some twenty storage types and shapes of heads.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;

Error not_all_kept(const std::string& why) {
  return Error("the kernels are compiled, but not all of them could be kept for the next start", why,
               "Free some space there, or name another folder by XDG_CACHE_HOME");
}

// Compiles the kernels for one text first, then those for many texts. Each set is marked when it is complete, so that
// waiting processes may use it. With --background another process that already compiles ends this one.
int warm_command(const CommonFlags& flags, const WarmFlags& own) {
  apply_verbosity(flags);
  const double start = now_seconds();
  if (own.background) give_way_to_others();  // before drivers are tried: it also raises the caller's limits
  TextOptions asked;
  choose_act(flags, asked);
  // The default for texts: a GPU card works without the NPU, so nothing rounds to f16.
  ActType act = default_card() ? ActType::f32 : ActType::f16;
  // The braces close the file. Only its header is needed here, and the engines open it again.
  std::string mark, mark_of_many;
  {
    const GgufFile file = GgufFile::open(flags.model);
    const ModelConfig config = read_config(file);
    act = chosen_act(asked, matrix_formats(file, config)).value_or(act);
    mark = kernels_mark(file, config, kv_type_of(flags), act, KernelsFor::one_text);
    mark_of_many = kernels_mark(file, config, kv_type_of(flags), act, KernelsFor::many_texts);
  }
  Warming one(mark, own_program());
  const Warming of_many(mark_of_many, own_program());
  // A process in the background gives up if another one holds the lock, or if nothing is left to do. Without
  // --background the kernels are compiled again, whatever the marks say.
  if (own.background && (!one.lock() || (one.done() && of_many.done()))) return kDone;
  if (const std::string why = proof::why_nothing_is_kept(); !why.empty())
    throw Error("nothing that is compiled could be kept", why,
                "Name a folder with room that can be written by XDG_CACHE_HOME");
  const std::string gpu = best_gpu();
  // A mark would promise kernels to a later process with more memory, which would find a GPU.
  if (const proof::Want want = proof::want_of_driver_memory(); want && gpu.empty())
    throw Error("no GPU could be looked for", want.what, want.remedy);
  // A process with one text may load its kernels as soon as they exist.
  for (const bool many : {false, true}) {
    if (!gpu.empty()) {
      Progress progress(many ? "compiling for many texts" : "compiling", ProgressUnit::points,
                        !own.background && !flags.quiet() && Progress::stderr_is_terminal());
      const auto engine = Engine::open(many ? options_to_warm_many(flags.model, gpu, kv_type_of(flags), act)
                                            : options_to_warm(flags.model, gpu, kv_type_of(flags), act));
      const auto tell = [&](int64_t done, int64_t total) {
        progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(total));
        return !interrupted();
      };
      many ? warm_kernels_of_many(*engine, tell) : warm_kernels(*engine, tell);
      if (interrupted()) return kInterrupted;
    }
    // Programs of another set may have been evicted. Its mark goes, so it is checked again when it is next needed.
    if (gpu::keep_newest(gpu::default_cache_folder() + "/opencl", kMostBytes) > 0) one.unmark_all();
    one.mark();
    if (many) of_many.mark();
    // A mark promises that the next start finds the kernels on disk. So marks are removed if any file could not
    // be kept.
    if (const std::string why = proof::not_kept(); !why.empty()) {
      one.unmark_all();
      throw not_all_kept(why);
    }
  }
  const double seconds = now_seconds() - start;
  if (flags.json) {
    print_json({{"model", flags.model},
                {"device", gpu},
                {"act", to_string(act)},
                {"seconds", seconds},
                {"clock", "measured"}});
  } else if (!own.background && gpu.empty()) {
    std::printf("there is no GPU to compile kernels for\n");
    for (const UnusableDevice& each : unusable_devices())
      std::printf("%s (%s) is left out: %s\n", each.id.c_str(), each.name.c_str(), each.reason.c_str());
  } else if (!own.background) {
    std::printf("%s: all kernels for %s are compiled, in %.1f s\n", gpu.c_str(), flags.model.c_str(), seconds);
  }
  return kDone;
}

}  // namespace

void add_warm(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<WarmFlags>>();
  add_model_flag(app, flags->common);
  add_cache_type_flag(app, flags->common);
  add_act_flags(app, flags->common);
  app.add_flag(
      "--background", flags->own.background,
      "take what other programs leave of the processor, and say nothing; end at once when another process warms "
      "for such a model");
  add_output_flags(app, flags->common);
  app.callback([flags, &action] { action = [flags] { return warm_command(flags->common, flags->own); }; });
}

}  // namespace tandem::app
