// `tandem pack`: the packed weights of a model in a file, from which later starts map them, or read experts that move.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
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
#include "engine/model/loading.h"
#include "engine/run/engine.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/long_wait.h"
#include "sync/pool.h"

namespace tandem::app {
namespace {

// Nothing but the output, because the packed form depends on the model and on this machine's code alone.
struct PackFlags {
  std::string output;
};

// Packs piece by piece, so the peak memory is that of one piece. The file gets its name only when everything is written
// and the model has not changed meanwhile.
int pack_command(const CommonFlags& flags, const PackFlags& own) {
  apply_verbosity(flags);
  const GgufFile file = GgufFile::open(flags.model);
  sync::Pool pool;
  ModelLoading loading(file, pool);
  const auto identity = file.identity();
  std::error_code ignored;
  const auto kind = std::filesystem::status(own.output, ignored).type();
  if (kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular)
    throw Error("packed weights need a regular file", own.output, "Name a file that there is not yet, with -o");
  if (!identity) throw Error("the model is no regular file, so nothing could be known to belong to it", flags.model);
  const int threads = flags.engine.threads > 0 ? flags.engine.threads : static_cast<int>(usable_cores().size());
  {
    Progress progress("packing", ProgressUnit::bytes, !flags.quiet() && Progress::stderr_is_terminal());
    PackedFileWriter out(own.output, *identity, loading.slot_bytes());
    loading.pack_pieces(
        threads, kPieceBytes,
        [&](uint64_t done, uint64_t total) {
          if (interrupted()) throw Interrupted();
          progress.update(done, total);
        },
        [&](std::span<const std::byte> piece) { out.write(piece); });
    file.require_unchanged();
    out.commit();
  }
  int64_t records = 0;
  uint64_t record_bytes = 0;
  for (const ExpertRecords& each : loading.records()) {
    records += each.count;
    record_bytes += static_cast<uint64_t>(each.count) * each.bytes;
  }
  const uint64_t bytes = PackedFileWriter::file_bytes(loading.slot_bytes());
  if (flags.json) {
    print_json({{"file", own.output},
                {"model", flags.model},
                {"bytes", bytes},
                {"records", records},
                {"record_bytes", record_bytes}});
    return kDone;
  }
  std::printf("%s: %sB of packed weights", own.output.c_str(), in_thousands(static_cast<double>(bytes), "G").c_str());
  if (records > 0)
    std::printf(", of which %lld experts take %sB", static_cast<long long>(records),
                in_thousands(static_cast<double>(record_bytes), "G").c_str());
  std::printf("\n");
  return kDone;
}

}  // namespace

// There is no flag for devices, because packed weights are the same for all of them.
void add_pack(CLI::App& app, Action& action) {
  auto flags = std::make_shared<FlagsWith<PackFlags>>();
  add_model_flag(app, flags->common);
  writes_file(app.add_option("-o,--output", flags->own.output, "the file to write"))->required();
  add_threads_flag(app, flags->common.engine.threads);
  add_output_flags(app, flags->common);
  app.callback([flags, &action] { action = [flags] { return pack_command(flags->common, flags->own); }; });
}

}  // namespace tandem::app
