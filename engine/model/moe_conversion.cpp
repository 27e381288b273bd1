#include "engine/model/moe_conversion.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/model/expert_keys.h"
#include "engine/model/layer_names.h"
#include "engine/model/weights.h"
#include "engine/tensor/block_scales.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// Architectures of dense models and of mixtures that differ only in their experts. The experts' weights add up to 1.
struct Family {
  const char *dense, *mixture;
};
constexpr Family kFamilies[] = {{"llama", "llama"}, {"qwen3", "qwen3moe"}};

std::string mixture_of(const ModelConfig& config, const std::string& path) {
  if (config.experts) throw Error("the model has experts already", path, "make-moe is for dense models");
  std::string known;
  for (const Family& family : kFamilies) {
    if (config.architecture == family.dense) return family.mixture;
    known += (known.empty() ? "" : ", ") + std::string(family.dense);
  }
  throw Error("models of this architecture cannot be made into mixtures of experts",
              path + ": architecture '" + config.architecture + "'", "Architectures that can: " + known);
}

std::string layer_tensor(int64_t layer, const char* name) { return "blk." + std::to_string(layer) + "." + name; }

// Passes the bytes on in chunks.
void hand_over(std::span<const std::byte> bytes, const std::function<void(std::span<const std::byte>)>& take) {
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes)
    take(bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at)));
}

}  // namespace

// All checks come first, so a model that cannot be converted fails before anything is written. Routers are zeros until
// set_router() replaces them.
MoeConversion::MoeConversion(const GgufFile& dense, const MoeShape& shape)
    : file_(dense), shape_(shape), config_(read_config(dense)), architecture_(mixture_of(config_, dense.path())) {
  check_numbers();
  width_ = shape_.kind == ExpertKind::split ? config_.feed_forward / shape_.experts : config_.feed_forward;
  check_blocks();
  routers_.resize(static_cast<size_t>(config_.layers));
  for (int64_t layer = 0; layer < config_.layers; ++layer)
    set_router(layer, std::vector<float>(static_cast<size_t>(shape_.experts * config_.hidden)));
  add_keys();
  add_tensors();
}

void MoeConversion::set_router(int64_t layer, std::vector<float> rows) {
  TANDEM_CHECK(static_cast<int64_t>(rows.size()) == shape_.experts * config_.hidden, "values of a router");
  routers_.at(static_cast<size_t>(layer)) = std::move(rows);
}

// A power of two changes only a scale's exponent, so the product is exact. Cloned experts are not multiplied.
bool MoeConversion::rounds() const {
  return shape_.kind == ExpertKind::split && !std::has_single_bit(static_cast<uint64_t>(shape_.used));
}

// E and k must be possible for a reader: 2 to kMostExperts, and 1 to the smaller of E and kMostExpertsUsed.
void MoeConversion::check_numbers() const {
  const std::string found = "found " + std::to_string(shape_.experts) + " of which a token goes to " +
                            std::to_string(shape_.used) + ", expected ";
  if (shape_.experts < 2 || shape_.experts > kMostExperts)
    throw Error("this is no number of experts: " + found + "2 to " + std::to_string(kMostExperts), file_.path());
  const int64_t most = std::min(shape_.experts, kMostExpertsUsed);
  if (shape_.used < 1 || shape_.used > most)
    throw Error("a token cannot go to so many experts: " + found + "1 to " + std::to_string(most), file_.path());
}

// Checks that the tensors exist with the right shapes, and that an expert's columns of down are whole blocks. The error
// lists numbers of experts that work.
void MoeConversion::check_blocks() const {
  const int64_t H = config_.hidden, I = config_.feed_forward;
  int64_t block = 1;
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    for (const auto& [name, columns, rows] : {std::tuple{"ffn_gate.weight", H, I}, std::tuple{"ffn_up.weight", H, I},
                                              std::tuple{"ffn_down.weight", I, H}}) {
      const GgufTensor& tensor = file_.require(layer_tensor(layer, name));
      if (tensor.shape != std::vector{columns, rows}) {
        throw Error("a tensor has another shape than the metadata say, expected [" + std::to_string(columns) + ", " +
                        std::to_string(rows) + "]",
                    file_.path() + ": tensor '" + tensor.name + "'", "the file is damaged");
      }
    }
    // Layers may differ in type. A block has a power of two of values, so columns that fit the largest block fit all.
    const StorageType down = file_.require(layer_tensor(layer, "ffn_down.weight")).type;
    block = std::max<int64_t>(block, info(down).block_values);
  }
  if (shape_.kind == ExpertKind::cloned) return;
  const auto fits = [&](int64_t experts) { return I % (experts * block) == 0; };
  if (fits(shape_.experts)) return;
  std::string others;
  for (int64_t experts = 2; experts <= std::min(I / block, kMostExperts); ++experts)
    if (fits(experts)) others += (others.empty() ? "" : ", ") + std::to_string(experts);
  throw Error("a feed-forward network of width " + std::to_string(I) + " cannot be split into " +
                  std::to_string(shape_.experts) + " experts of one width in whole blocks of " + std::to_string(block),
              file_.path(),
              others.empty() ? "Experts of this model can be cloned only" : "Numbers of experts that work: " + others);
}

// Copies all keys under the mixture's architecture, less those about split files, and adds the experts' keys.
void MoeConversion::add_keys() {
  const std::string from = config_.architecture + ".", to = architecture_ + ".";
  writer_.alignment = file_.get_uint("general.alignment").value_or(writer_.alignment);
  for (const std::string& key : file_.keys()) {
    if (key.starts_with("split.")) continue;
    const GgufStored value = file_.require_stored(key);
    writer_.raw(key.starts_with(from) ? to + key.substr(from.size()) : key, value.type,
                {value.bytes.begin(), value.bytes.end()});
  }
  writer_.set("general.architecture", architecture_);
  // Readers of `llama` take an expert's width from the first of the two keys, readers of `qwen3moe` from the second.
  for (const char* key : {"feed_forward_length", "expert_feed_forward_length"})
    writer_.set(to + key, static_cast<uint32_t>(width_));
  writer_.set(to + "expert_count", static_cast<uint32_t>(shape_.experts));
  writer_.set(to + "expert_used_count", static_cast<uint32_t>(shape_.used));
}

// The three matrices of each layer's feed-forward network become stacks of experts. All other tensors are copied.
void MoeConversion::add_tensors() {
  for (const GgufTensor& tensor : file_.tensors()) {
    const std::string name(name_in_layer(tensor.name));
    const bool is_network = name == "ffn_gate.weight" || name == "ffn_up.weight" || name == "ffn_down.weight";
    const std::optional<int64_t> layer = layer_of(tensor.name);
    if (is_network && layer && *layer < config_.layers)
      add_experts(tensor, *layer, name);
    else
      add(tensor.name, tensor.shape, tensor.type, {&tensor, Form::copied, -1, tensor.bytes});
  }
}

void MoeConversion::add(const std::string& name, const std::vector<int64_t>& shape, StorageType type, Tensor tensor) {
  writer_.tensor(name, shape, type);
  tensors_.push_back(tensor);
}

// Adds the tensor's counterpart for all experts. The router is added together with the gate.
void MoeConversion::add_experts(const GgufTensor& tensor, int64_t layer, const std::string& name) {
  const int64_t E = shape_.experts;
  const bool split = shape_.kind == ExpertKind::split;
  const bool down = name == "ffn_down.weight";
  if (name == "ffn_gate.weight") {
    add(layer_tensor(layer, "ffn_gate_inp.weight"), {config_.hidden, E}, StorageType::f32,
        {nullptr, Form::router, layer, static_cast<uint64_t>(E * config_.hidden) * sizeof(float)});
  }
  std::vector<int64_t> shape = tensor.shape;
  shape[down ? 0 : 1] = width_;
  shape.push_back(E);
  // Split rows need no work: the experts' rows one behind the other are the rows of the dense tensor.
  const Form form = !split ? Form::each_expert : down ? Form::columns : Form::copied;
  const uint64_t bytes = split ? tensor.bytes : tensor.bytes * static_cast<uint64_t>(E);
  const std::string stem = name.substr(0, name.find('.'));
  add(layer_tensor(layer, (stem + "_exps.weight").c_str()), shape, tensor.type, {&tensor, form, layer, bytes});
}

// Counts as write() does: each tensor begins at the next aligned offset.
uint64_t MoeConversion::file_bytes() const {
  uint64_t bytes = writer_.header().size();
  for (const Tensor& tensor : tensors_) bytes = writer_.aligned(bytes) + tensor.bytes;
  return bytes;
}

// Zeros fill the gap before each tensor up to its aligned offset.
void MoeConversion::write(const Take& take) const {
  const std::vector<std::byte> header = writer_.header();
  hand_over(header, take);
  uint64_t written = header.size();
  for (const Tensor& tensor : tensors_) {
    const std::vector<std::byte> padding(writer_.aligned(written) - written);
    if (!padding.empty()) take(padding);
    write_tensor(tensor, take);
    written += padding.size() + tensor.bytes;
  }
}

// A cloned stack is the dense tensor, written once for each expert. The pages of the dense file are dropped behind the
// writer, so a large model does not fill the memory.
void MoeConversion::write_tensor(const Tensor& tensor, const Take& take) const {
  if (tensor.form == Form::router)
    return hand_over(std::as_bytes(std::span(routers_[static_cast<size_t>(tensor.layer)])), take);
  const std::span<const std::byte> bytes(tensor.from->data, tensor.from->bytes);
  if (tensor.form == Form::columns) {
    write_columns(*tensor.from, take);
  } else {
    const int64_t times = tensor.form == Form::each_expert ? shape_.experts : 1;
    for (int64_t i = 0; i < times; ++i) hand_over(bytes, take);
  }
  file_.drop_pages(bytes);
}

// Writes down's columns for each expert in turn, over all rows, multiplied by k. Works in chunks of rows, so that
// memory stays small.
void MoeConversion::write_columns(const GgufTensor& down, const Take& take) const {
  const size_t row = row_bytes(down.type, down.shape[0]), part = row_bytes(down.type, width_);
  const size_t rows = static_cast<size_t>(down.shape[1]), rows_at_once = std::max<size_t>(1, kChunkBytes / part);
  std::vector<std::byte> chunk;
  for (size_t e = 0; e < static_cast<size_t>(shape_.experts); ++e) {
    for (size_t begin = 0; begin < rows; begin += rows_at_once) {
      const size_t end = std::min(rows, begin + rows_at_once);
      chunk.resize((end - begin) * part);
      for (size_t n = begin; n < end; ++n)
        std::copy_n(down.data + n * row + e * part, part, chunk.data() + (n - begin) * part);
      // Each of k experts has weight 1/k, so its part of down is multiplied by k.
      if (!multiply_blocks(down.type, chunk, static_cast<float>(shape_.used))) {
        throw Error("a scale times " + std::to_string(shape_.used) + " is more than " + info(down.type).name + " holds",
                    file_.path() + ": tensor '" + down.name + "'", "Send a token to fewer experts");
      }
      take(chunk);
    }
  }
}

}  // namespace tandem
