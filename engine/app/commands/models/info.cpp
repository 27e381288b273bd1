// `tandem info`: what a model file holds, and which devices can compute with it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/app/commands/commands.h"
#include "engine/app/commands/models/memory_report.h"
#include "engine/app/common_flags.h"
#include "engine/app/report.h"
#include "engine/device/registry.h"
#include "engine/model/config.h"
#include "engine/model/gguf.h"
#include "engine/model/weights.h"
#include "engine/run/pass/core_layout.h"
#include "sync/affinity.h"
#include "sync/error.h"
#include "sync/printable_text.h"

namespace tandem::app {

namespace {

using nlohmann::json;

// A file's tensors of one storage type.
struct TypeCount {
  StorageType type = StorageType::f32;
  int64_t tensors = 0, parameters = 0;
  size_t bytes = 0;
  std::optional<GgufTensor> matrix;  // the largest matrix of the type; devices are asked about it
};

// Values of a tensor. Reading the header has refused extents whose product does not fit.
int64_t elements(const GgufTensor& tensor) {
  int64_t product = 1;
  for (int64_t extent : tensor.shape) product *= extent;
  return product;
}

// The elements of one matrix: experts are matrices of one tensor, one behind the other.
int64_t matrix_elements(const GgufTensor& tensor) { return tensor.shape[0] * tensor.shape[1]; }

// Counts tensors by their type, those with most bytes first. The largest matrix stands for its type when devices are
// asked: a limit of a device shows there first.
std::vector<TypeCount> count_types(const GgufFile& file) {
  std::map<StorageType, TypeCount> counts;
  for (const GgufTensor& tensor : file.tensors()) {
    TypeCount& count = counts[tensor.type];
    count.type = tensor.type;
    ++count.tensors;
    count.parameters += elements(tensor);
    count.bytes += tensor.bytes;
    if (tensor.shape.size() >= 2 && (!count.matrix || matrix_elements(tensor) > matrix_elements(*count.matrix)))
      count.matrix = tensor;
  }
  std::vector<TypeCount> sorted;
  for (auto& [type, count] : counts) sorted.push_back(std::move(count));
  std::sort(sorted.begin(), sorted.end(), [](const TypeCount& a, const TypeCount& b) { return a.bytes > b.bytes; });
  return sorted;
}

// The names are those of the JSON document, so they stay as they are.
const char* name_of(Gating gating) {
  switch (gating) {
    case Gating::softmax:
      return "softmax";
    case Gating::sigmoid:
      return "sigmoid";
    case Gating::sparse_mixer:
      return "sparse_mixer";
  }
  TANDEM_CHECK(false, "a gating without a name");
}

// Shapes that only some models have. An absent key means that the model lacks the part. A zero would look like a value
// of the file.
void add_parts(json& shapes, const ModelConfig& config) {
  if (config.experts) {
    const ExpertsConfig& experts = *config.experts;
    shapes["experts"] = experts.count;
    shapes["experts_used"] = experts.used;
    shapes["expert_feed_forward"] = experts.feed_forward;
    shapes["shared_feed_forward"] = experts.shared_feed_forward;
    shapes["dense_layers"] = experts.dense_layers;
    shapes["gating"] = name_of(experts.gating);
    shapes["expert_weights_normalised"] = experts.normalised;
    shapes["expert_scale"] = experts.scale;
    shapes["expert_choice_bias"] = experts.choice_bias;
    if (experts.step > 1) shapes["expert_step"] = experts.step;
    if (experts.groups > 1) {
      shapes["expert_groups"] = experts.groups;
      shapes["expert_groups_used"] = experts.groups_used;
    }
  }
  if (config.latent) {
    shapes["kv_lora_rank"] = config.latent->rank;
    shapes["nope_dim"] = config.latent->nope;
    shapes["value_dim"] = config.latent->value;
    if (config.latent->query_rank > 0) shapes["q_lora_rank"] = config.latent->query_rank;
  }
}

// The shapes that every model has. Counts of parts that are not computed are there only if the file has such parts.
json config_json(const ModelConfig& config) {
  int64_t window_layers = 0;
  for (int64_t layer = 0; layer < config.layers; ++layer) window_layers += config.window_of(layer) > 0 ? 1 : 0;
  json shapes{{"layers", config.layers},
              {"hidden", config.hidden},
              {"feed_forward", config.feed_forward},
              {"heads", config.heads},
              {"kv_heads", config.kv_heads},
              {"head_dim", config.head_dim},
              {"vocabulary", config.vocabulary},
              {"context_length", config.context_length},
              {"norm_eps", config.norm_eps},
              {"rope_base", config.rope.base},
              {"rope_dim", config.rope.dim},
              {"rope_layout", config.rope.halves ? "halves" : "interleaved"},
              {"window", config.window},
              {"window_layers", window_layers},
              {"activation", name_of(config.activation)},
              {"qkv_bias", config.qkv_bias},
              {"qk_norm", config.qk_norm},
              {"tied_output", config.tied_output}};
  if (config.media_tensors > 0) shapes["tensors_of_other_media_not_computed"] = config.media_tensors;
  if (config.draft_layers > 0) shapes["draft_layers_not_computed"] = config.draft_layers;
  add_parts(shapes, config);
  return shapes;
}

// Asks every device whether it multiplies with each stored type: {"device", "type", "packed", "supported", "reason"}.
// Each device is opened and asked for a product of one token. No weights are loaded, because supports() decides by
// shapes and formats. The reason of a refusal is part of the report.
json placement(const std::vector<TypeCount>& types, const std::vector<std::string>& ids) {
  const CoreLayout layout = lay_out_cores(usable_cores());
  DeviceOptions options;
  options.gpu_cores = layout.gpu;
  options.npu_cores = layout.npu;
  json rows = json::array();
  for (const std::string& id : ids) {
    const std::unique_ptr<Device> device = open_device(id, options);
    for (const TypeCount& type : types) {
      if (!type.matrix) continue;
      const int64_t K = type.matrix->shape[0], N = type.matrix->shape[1];
      const PackedFormat format = packed_format(type.type);
      // GGUF gives the shape as [K, N], columns first. The operands have no memory, because nothing runs.
      const MatMul op{.S = 1,
                      .K = K,
                      .row_begin = 0,
                      .row_end = N,
                      .w = {format, N, K, {}},
                      .x = {},
                      .y = {},
                      .x_stride = K,
                      .y_stride = N};
      const Support support = device->supports({type.matrix->name, op});
      rows.push_back({{"device", id},
                      {"type", info(type.type).name},
                      {"packed", to_string(format)},
                      {"supported", support.yes},
                      {"reason", support.reason}});
    }
  }
  return rows;
}

// Prints the JSON report as text, so that both forms have the same facts. Names come from the file, so they are made
// printable before they reach a terminal.
void print(const json& report) {
  auto text = [&](const char* key) { return printable_text(report.value(key, std::string())); };
  std::cout << text("model") << "\n"
            << "  architecture  " << text("architecture") << (text("name").empty() ? "" : "  (" + text("name") + ")")
            << "\n";
  std::printf("  file          %.1f MB, GGUF v%u, %lld tensors, %.1f M parameters\n",
              report["file_bytes"].get<double>() / 1e6, report["gguf_version"].get<unsigned>(),
              report["tensors"].get<long long>(), report["parameters"].get<double>() / 1e6);
  if (report.contains("shapes")) {
    std::cout << "  shapes       ";
    for (const auto& [key, value] : report["shapes"].items()) std::cout << " " << key << "=" << value.dump();
    std::cout << "\n";
  }
  for (const json& type : report["storage"]) {
    std::printf("  stored as     %-7s %5lld tensors  %9.1f MB\n", type["type"].get<std::string>().c_str(),
                type["tensors"].get<long long>(), type["bytes"].get<double>() / 1e6);
  }
  if (report.contains("memory")) print_memory(report["memory"]);
  std::fflush(stdout);
  for (const json& row : report["placement"]) {
    std::cout << "  matmul        " << row["type"].get<std::string>() << " (packed " << row["packed"].get<std::string>()
              << ") on " << row["device"].get<std::string>() << ": "
              << (row["supported"].get<bool>() ? "yes" : "no, " + row["reason"].get<std::string>()) << "\n";
  }
  if (report.contains("note")) std::cout << "  note          " << text("note") << "\n";
}

// Reads the header only. A file without tensors is a vocabulary, so nothing is asked about devices.
int info_command(const CommonFlags& flags, bool speed) {
  apply_verbosity(flags);
  const GgufFile file = GgufFile::open(flags.model);
  const std::vector<TypeCount> types = count_types(file);
  json report = {{"model", flags.model},
                 {"architecture", file.get_string("general.architecture").value_or("")},
                 {"name", file.get_string("general.name").value_or("")},
                 {"file_bytes", file.file_bytes()},
                 {"gguf_version", file.version()},
                 {"tensors", file.tensors().size()},
                 {"tokenizer", file.get_string("tokenizer.ggml.model").value_or("")},
                 {"pre_tokenizer", file.get_string("tokenizer.ggml.pre").value_or("")}};
  int64_t parameters = 0;
  report["storage"] = json::array();
  for (const TypeCount& type : types) {
    parameters += type.parameters;
    report["storage"].push_back({{"type", info(type.type).name},
                                 {"tensors", type.tensors},
                                 {"parameters", type.parameters},
                                 {"bytes", type.bytes}});
  }
  report["parameters"] = parameters;
  report["placement"] = json::array();
  if (file.tensors().empty()) {
    report["note"] = "a vocabulary without weights: it tokenizes, but does not run";
  } else {
    report["shapes"] = config_json(read_config(file));
    report["memory"] = memory_json(file, flags, speed);
    report["placement"] = placement(types, flags.engine.devices.empty() ? available_devices() : flags.engine.devices);
  }
  // The facts come from mapped bytes. If the file has changed meanwhile, the report would mix two files.
  file.require_unchanged();
  if (flags.json) {
    print_json(report);
  } else {
    print(report);
  }
  return kDone;
}

}  // namespace

// The flags of memory are here too, because the command says what a run with these flags would take.
void add_info(CLI::App& app, Action& action) {
  struct Own {
    bool speed = false;
  };
  auto flags = std::make_shared<FlagsWith<Own>>();
  add_model_flag(app, flags->common);
  add_device_flag(app, flags->common);
  add_ctx_size_flag(app, flags->common);
  add_cache_type_flag(app, flags->common);
  add_expert_budget_flags(app, flags->common);
  add_expert_copies_flag(app, flags->common);
  app.add_flag("--speed", flags->own.speed,
               "measure memory and storage for about a second, and say how long a token takes at least");
  add_output_flags(app, flags->common);
  app.callback([flags, &action] { action = [flags] { return info_command(flags->common, flags->own.speed); }; });
}

}  // namespace tandem::app
