#include "engine/model/loading.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "engine/model/architecture.h"
#include "engine/model/layer_names.h"
#include "engine/model/other_media.h"
#include "engine/model/packing.h"
#include "engine/model/rope_keys.h"
#include "engine/model/weights.h"
#include "sync/error.h"

// The architecture's specification lists the parts of a model. Every item gets a place in a slot, in the order in which
// a token uses it. There is one slot for the embedding, one for each layer and one for the output. Then all matrices
// are packed in parallel.
namespace tandem {
namespace {

// Alignment of a matrix or vector in its slot: a cache line, as PackedMatrix promises.
constexpr size_t kItemAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kItemAlignment - 1) / kItemAlignment * kItemAlignment; }

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t dimension : shape) text += (text.empty() ? "[" : ", ") + std::to_string(dimension);
  return text + "]";
}

// The shape without trailing dimensions of 1, which mean nothing.
std::vector<int64_t> significant(std::vector<int64_t> shape) {
  while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
  return shape;
}

const GgufTensor& require_shaped(const GgufFile& file, const std::string& name, const std::vector<int64_t>& shape) {
  const GgufTensor& tensor = file.require(name);
  if (significant(tensor.shape) != significant(shape)) {
    throw Error("a tensor has the wrong shape: found " + shape_text(tensor.shape) + ", expected " + shape_text(shape),
                file.path() + ": tensor '" + name + "'", "the tensors contradict the metadata: the file is damaged");
  }
  return tensor;
}

// All rows of a tensor, each of `columns` values.
SourceRows rows_of(const GgufTensor& tensor, int64_t columns) {
  return {&tensor, 0, static_cast<int64_t>(tensor.bytes / row_bytes(tensor.type, columns))};
}

// Records begin at pages, because storage is read in whole pages.
constexpr size_t kPageBytes = 4096;
size_t whole_pages(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// One item of a slot: a vector, a matrix of several tensors, or a stack of matrices.
struct Item {
  size_t bytes = 0;
  Operand* place = nullptr;                // the model's field that receives its place
  std::function<void(PackingList&)> list;  // adds it to the packing list, once it has a place
};

// A part of each expert's record: one matrix of a stack.
struct RecordPart {
  PackedStack* stack = nullptr;  // the model's field that receives the place of the stack
  std::function<void(PackingList&, int64_t expert, const PackedMatrix&)> list;
};

// Lists the items of a model slot by slot, checks their tensors, and gives them places. add() does one item each: it
// only remembers addresses in the model, so the model's fields must not move afterwards.
class Loader {
 public:
  Loader(const GgufFile& file, sync::Pool& pool) : file_(file), pool_(pool), packing_(file) {}

  void add(const VectorSpec& spec, Operand& place) { vector({spec}, place); }

  void add(const MatrixSpec& spec, PackedMatrix& matrix) {
    // A file states the row length first.
    const GgufTensor& tensor = known(spec.name, {spec.columns, spec.rows});
    matrix = {packed_format(tensor.type), spec.rows, spec.columns, {}};
    item(matrix, {rows_of(tensor, spec.columns)});
  }

  // Neighbours of one packed format become one matrix; a change of format begins another part.
  void add(const GroupSpec& spec, MatrixGroup& group) {
    std::vector<std::vector<SourceRows>> sources;  // one list for each part
    for (const MatrixSpec& weight : spec.weights) {
      const GgufTensor& tensor = known(weight.name, {weight.columns, weight.rows});
      const PackedFormat format = packed_format(tensor.type);
      if (group.parts.empty() || group.parts.back().matrix.format != format) {
        group.parts.push_back({{format, 0, weight.columns, {}}, group.rows});
        sources.emplace_back();
      }
      group.parts.back().matrix.rows += weight.rows;
      sources.back().push_back(rows_of(tensor, weight.columns));
      add_factor(tensor, {group.rows, weight.rows}, group.factors);
      group.rows += weight.rows;
      group.columns = weight.columns;
    }
    for (size_t i = 0; i < group.parts.size(); ++i) item(group.parts[i].matrix, std::move(sources[i]));
    vector(spec.biases, group.bias);
  }

  // The same for stacks: a part's matrix i consists of the rows of all its weights for expert or head i.
  void add(const StackSpec& spec, MatrixStack& stack) {
    std::vector<std::vector<Stacked>> sources;  // one list for each part
    stack.count = spec.count;
    stack.factors.reserve(spec.weights.size());  // before items point into it
    std::vector<float> before;                   // the factors of the weight in front
    for (const StackedSpec& weight : spec.weights) {
      Stacked stacked = stacked_tensors(weight, spec.count);
      const PackedFormat format = packed_format(stacked.packed_type());
      // A transposed matrix is packed on its own.
      const bool below = !stack.parts.empty() && stack.parts.back().stack.format == format && !weight.transposed &&
                         !sources.back().back().spec->transposed;
      if (!below) {
        stack.parts.push_back({{format, spec.count, 0, weight.columns, {}}, stack.rows});
        sources.emplace_back();
      }
      stack.parts.back().stack.rows += weight.rows;
      before = spec.of_experts ? add_factors(stacked.tensors, {stack.rows, weight.rows, {}}, spec.count, before, stack)
                               : std::vector<float>();
      sources.back().push_back(std::move(stacked));
      stack.rows += weight.rows;
      stack.columns = weight.columns;
    }
    for (size_t i = 0; i < stack.parts.size(); ++i) item(stack.parts[i].stack, sources[i], spec.of_experts);
  }

  // The items since the last call share a slot. Records of experts come last in it.
  void end_slot(std::string label, int64_t layer = -1) {
    SlotPlan plan{std::move(label), std::exchange(items_, {}), std::exchange(record_, {})};
    if (!plan.record.empty())
      records_.push_back(
          {layer, plan.record.front().stack->count, slots_.size(), whole_pages(dense_bytes(plan)), record_bytes(plan)});
    slots_.push_back(std::move(plan));
  }
  const std::vector<ExpertRecords>& records() const { return records_; }

  // Gives every item its place in new slots of the pool, where it is packed later. Called after everything has been
  // checked, so that a bad file costs no memory.
  std::vector<sync::Slot*> place_all() {
    std::vector<sync::Slot*> slots;
    for (const SlotPlan& plan : slots_) {
      slots.push_back(&pool_.acquire(bytes_of(plan), sync::SlotUse::weights, plan.label));
      place(plan, *slots.back());
      place_record(plan, {slots.back(), whole_pages(dense_bytes(plan))}, record_bytes(plan));
      for (const Item& item : plan.items) item.list(packing_);
      for (const RecordPart& part : plan.record)
        for (int64_t i = 0; i < part.stack->count; ++i) part.list(packing_, i, part.stack->matrix(i));
    }
    return slots;
  }

  // The same with slots that already hold the packed weights. No item goes to the packing list. With `moving`, the
  // experts' records stay in the file, and their stacks are the slots that it names.
  std::vector<sync::Slot*> place_all(PackedFile& packed, PackedUse use, std::span<const MovingExperts> moving) {
    std::vector<sync::FilePart> parts;
    for (const SlotPlan& plan : slots_)
      parts.push_back({0, moving.empty() ? bytes_of(plan) : dense_bytes(plan), plan.label});
    const auto found = use == PackedUse::mapped ? packed.map(pool_, parts) : packed.read(pool_, parts);
    auto records = records_.begin();
    for (size_t i = 0; i < slots_.size(); ++i) {
      place(slots_[i], *found[i]);
      if (slots_[i].record.empty()) continue;
      const ExpertRecords& of_slot = *records++;
      if (moving.empty()) {
        place_record(slots_[i], {found[i], of_slot.offset}, of_slot.bytes);
        continue;
      }
      const MovingExperts& experts = moving[static_cast<size_t>(of_slot.layer)];
      place_record(slots_[i], experts.experts, experts.slot_bytes);
      for (const RecordPart& part : slots_[i].record) part.stack->count = experts.slots;
    }
    return {found.begin(), found.end()};
  }

  // Packs the model piece by piece, in the order of the packed file, and gives each piece to `take`. A piece is a slot
  // without its records, or as many records as `most_bytes` hold. Memory: one piece. The weights keep no places.
  void pack_pieces(int threads, size_t most_bytes, const LoadProgress& progress, const TakePiece& take) {
    uint64_t total = 0, done = 0;
    for (const GgufTensor& tensor : file_.tensors()) total += tensor.bytes;
    const auto finish = [&](PackingList& list) {
      uint64_t last = 0;
      list.finish(threads, [&](uint64_t of_list, uint64_t) {
        last = of_list;
        if (progress) progress(done + of_list, total);
      });
      done += last;
    };
    auto records = records_.begin();
    for (const SlotPlan& plan : slots_) {
      if (const size_t bytes = whole_pages(dense_bytes(plan)); bytes > 0) {
        PieceBuffer buffer(pool_, bytes, plan.label);
        PackingList list(file_);
        place(plan, buffer.slot());
        for (const Item& item : plan.items) item.list(list);
        finish(list);
        for (const Item& item : plan.items) *item.place = {};
        take(buffer.bytes(bytes));
      }
      if (plan.record.empty()) continue;
      const ExpertRecords& of_slot = *records++;
      const int64_t at_once = std::clamp<int64_t>(static_cast<int64_t>(most_bytes / of_slot.bytes), 1, of_slot.count);
      for (int64_t first = 0; first < of_slot.count; first += at_once)
        pack_records(plan, of_slot, first, std::min(of_slot.count, first + at_once), finish, take);
    }
  }

  std::vector<size_t> slot_bytes() const {
    std::vector<size_t> bytes;
    for (const SlotPlan& plan : slots_) bytes.push_back(bytes_of(plan));
    return bytes;
  }
  size_t bytes_in_slots(bool with_records) const {
    size_t sum = 0;
    for (const SlotPlan& plan : slots_) sum += with_records ? bytes_of(plan) : dense_bytes(plan);
    return sum;
  }

  PackingList& packing() { return packing_; }

  // Error for a tensor that the architecture does not list: the computation would ignore it.
  void refuse_unknown_tensors(const ModelConfig& config) const {
    const std::string& architecture = config.architecture;
    const RopeConfig& rope = config.rope;
    const bool two_factors = !rope.long_factors.empty(), factors = !two_factors && !rope.frequency_factors.empty();
    for (const GgufTensor& tensor : file_.tensors()) {
      // Redundant tensors. The configuration already has the frequency factors, and old files repeat the
      // rotation's own table.
      if (factors && tensor.name == kRopeFactors) continue;
      if (two_factors && (tensor.name == kShortRopeFactors || tensor.name == kLongRopeFactors)) continue;
      // Layers that draft more tokens.
      if (const auto layer = layer_of(tensor.name);
          layer && *layer >= config.layers && *layer < config.layers + config.draft_layers)
        continue;
      if (tensor.name.ends_with(".attn_rot_embd.weight") || tensor.name.ends_with(".attn_rot_embd")) continue;
      if (is_tensor_of_other_media(tensor.name)) continue;
      if (!names_.contains(tensor.name) && tensor.name.ends_with(".scale"))
        throw Error("a factor of a whole matrix, which is computed for NVFP4 alone",
                    file_.path() + ": tensor '" + tensor.name + "'",
                    "use a file of another storage type, such as MXFP4");
      if (!names_.contains(tensor.name)) {
        throw Error("a tensor that the architecture " + architecture + " does not know",
                    file_.path() + ": tensor '" + tensor.name + "'", "this variant of the model is not supported");
      }
    }
  }

 private:
  struct SlotPlan {
    std::string label;
    std::vector<Item> items;
    std::vector<RecordPart> record;  // without experts: empty
  };

  // A slot of the pool for one piece. A slot that is reused is cleared, so that gaps are zeros.
  class PieceBuffer {
   public:
    PieceBuffer(sync::Pool& pool, size_t bytes, const std::string& label)
        : pool_(pool), slot_(pool.acquire(bytes, sync::SlotUse::weights, label)) {}
    ~PieceBuffer() {
      sync::Pool::discard(slot_);
      pool_.release(slot_);
    }
    PieceBuffer(const PieceBuffer&) = delete;
    PieceBuffer& operator=(const PieceBuffer&) = delete;
    const sync::Slot& slot() const { return slot_; }
    std::span<std::byte> bytes(size_t count) const { return {slot_.data(), count}; }

   private:
    sync::Pool& pool_;
    sync::Slot& slot_;
  };

  // Records [first, end) of a slot, with their checksums.
  template <typename Finish>
  void pack_records(const SlotPlan& plan, const ExpertRecords& records, int64_t first, int64_t end,
                    const Finish& finish, const TakePiece& take) {
    const auto count = static_cast<size_t>(end - first);
    PieceBuffer buffer(pool_, count * records.bytes, plan.label);
    PackingList list(file_);
    for (size_t i = 0; i < count; ++i) {
      size_t offset = i * records.bytes;
      for (const RecordPart& part : plan.record) {
        const PackedStack& stack = *part.stack;
        const PackedMatrix matrix{stack.format, stack.rows, stack.columns, {&buffer.slot(), offset}};
        part.list(list, first + static_cast<int64_t>(i), matrix);
        offset += aligned(matrix.bytes());
      }
    }
    finish(list);
    const std::span<std::byte> bytes = buffer.bytes(count * records.bytes);
    for (size_t i = 0; i < count; ++i)
      seal_record(bytes.subspan(i * records.bytes, records.bytes), records.layer, first + static_cast<int64_t>(i));
    take(bytes);
  }

  static size_t dense_bytes(const SlotPlan& plan) {
    size_t bytes = 0;
    for (const Item& item : plan.items) bytes += aligned(item.bytes);
    return bytes;
  }

  // Of one expert, with its checksum.
  static size_t record_bytes(const SlotPlan& plan) {
    size_t bytes = 0;
    for (const RecordPart& part : plan.record)
      bytes += aligned(packed_bytes(part.stack->format, part.stack->rows, part.stack->columns));
    return whole_pages(bytes + sizeof(uint64_t));
  }

  static size_t bytes_of(const SlotPlan& plan) {
    if (plan.record.empty()) return dense_bytes(plan);
    return whole_pages(dense_bytes(plan)) + static_cast<size_t>(plan.record.front().stack->count) * record_bytes(plan);
  }

  // Gives the stacks of experts their places. `records` has the first expert's record.
  static void place_record(const SlotPlan& plan, const Operand& records, size_t record_bytes) {
    size_t offset = 0;
    for (const RecordPart& part : plan.record) {
      part.stack->data = records.advanced(offset);
      part.stack->pitch_bytes = record_bytes;
      offset += aligned(packed_bytes(part.stack->format, part.stack->rows, part.stack->columns));
    }
  }

  // Walks the items as dense_bytes() does, so the last item ends at the end of the slot or before its records.
  static void place(const SlotPlan& plan, const sync::Slot& slot) {
    size_t offset = 0;
    for (const Item& item : plan.items) {
      *item.place = {&slot, offset};
      offset += aligned(item.bytes);
    }
  }

  // The tensors of a StackedSpec: one for all matrices, or one for each matrix. Borrows the spec.
  struct Stacked {
    const StackedSpec* spec = nullptr;
    std::vector<const GgufTensor*> tensors;

    StorageType packed_type() const {
      const StorageType type = tensors[0]->type;
      return spec->transposed ? transposed_type(type) : type;
    }
    // The rows of matrix i. In a tensor for all matrices they begin after the i matrices before it.
    SourceRows rows(int64_t i) const {
      const bool whole = tensors.size() == 1;
      return {tensors[whole ? 0 : static_cast<size_t>(i)], (whole ? i * spec->file_pitch() : 0) + spec->rows_begin,
              spec->file_rows()};
    }
  };

  // The name of another tensor of the same matrix.
  static constexpr std::string_view kWeight = "weight";
  static std::string beside(const GgufTensor& weights, const char* name) {
    return weights.name.substr(0, weights.name.size() - kWeight.size()) + name;
  }

  // The factors of an NVFP4 matrix or of a stack of them, if its file has any: NAME.scale beside NAME.weight, a f32 for
  // each matrix. Other types have no such tensor, so it is refused as unknown there. NAME.input_scale says how to round
  // activations to 4 bits. No activation is rounded so here, so it changes nothing.
  std::vector<float> factors_of(const GgufTensor& weights, int64_t count) {
    if (weights.type != StorageType::nvfp4 || !weights.name.ends_with(kWeight)) return {};
    const std::string name = beside(weights, "scale");
    names_.insert(beside(weights, "input_scale"));
    if (file_.find(name) == nullptr) return {};
    const GgufTensor& tensor = known(name, {count});
    if (tensor.type != StorageType::f32)
      throw Error(std::string("a factor of type ") + info(tensor.type).name + ", expected F32",
                  file_.path() + ": tensor '" + name + "'");
    std::vector<float> factors(static_cast<size_t>(count));
    std::memcpy(factors.data(), tensor.data, factors.size() * sizeof(float));
    if (!std::ranges::all_of(factors, [](float factor) { return std::isfinite(factor); }))
      throw Error("a factor that is not a finite number", file_.path() + ": tensor '" + name + "'",
                  "the file is damaged");
    return factors;
  }

  // Adds the factors of experts as a vector beside their matrices, and returns them. Factors of 1 change nothing.
  // Neighbours with the same factors are one entry; `before` has those of the neighbour in front.
  // Experts with a tensor for each have a factor for each, or none at all.
  std::vector<float> add_factors(const std::vector<const GgufTensor*>& weights, ExpertFactors place, int64_t count,
                                 const std::vector<float>& before, MatrixStack& stack) {
    std::vector<float> factors;
    std::vector<VectorSpec> names;
    const int64_t each = count / std::ssize(weights);
    for (const GgufTensor* tensor : weights) {
      const std::vector<float> found = factors_of(*tensor, each);
      factors.insert(factors.end(), found.begin(), found.end());
      names.push_back({beside(*tensor, "scale"), each});
    }
    if (!factors.empty() && std::ssize(factors) != count)
      throw Error("factors of some experts and none of others", file_.path() + ": tensor '" + names.front().name + "'",
                  "the file is incomplete");
    if (std::ranges::all_of(factors, [](float factor) { return factor == 1; })) return {};
    if (factors == before) {
      stack.factors.back().columns += place.columns;
    } else {
      stack.factors.push_back(place);
      vector(names, stack.factors.back().factors);
    }
    return factors;
  }

  // Adds the factor of a matrix. Neighbours with one factor are one entry.
  void add_factor(const GgufTensor& matrix, ColumnFactor place, std::vector<ColumnFactor>& factors) {
    const std::vector<float> found = factors_of(matrix, 1);
    if (found.empty() || found[0] == 1) return;
    place.factor = found[0];
    if (!factors.empty() && factors.back().factor == place.factor &&
        factors.back().column_begin + factors.back().columns == place.column_begin)
      factors.back().columns += place.columns;
    else
      factors.push_back(place);
  }

  // The packing list copies the matrix, so `list` runs only after the matrix has its address.
  void item(PackedMatrix& matrix, std::vector<SourceRows> sources) {
    items_.push_back({matrix.bytes(), &matrix.data,
                      [&matrix, sources = std::move(sources)](PackingList& list) { list.add(matrix, sources); }});
  }

  // Adds matrix i of a stack to the packing list.
  static void list_matrix(PackingList& list, const std::vector<Stacked>& sources, int64_t i,
                          const PackedMatrix& matrix) {
    if (sources[0].spec->transposed) return list.add_transposed(matrix, sources[0].rows(i));
    std::vector<SourceRows> rows;
    for (const Stacked& source : sources) rows.push_back(source.rows(i));
    list.add(matrix, rows);
  }

  // A stack of experts becomes a part of their records. Other stacks are items, which add every matrix by themselves.
  void item(PackedStack& stack, std::vector<Stacked> sources, bool of_experts) {
    if (of_experts) {
      record_.push_back({&stack, [sources = std::move(sources)](PackingList& list, int64_t i, const PackedMatrix& to) {
                           list_matrix(list, sources, i, to);
                         }});
      return;
    }
    items_.push_back({stack.bytes(), &stack.data, [&stack, sources = std::move(sources)](PackingList& list) {
                        for (int64_t i = 0; i < stack.count; ++i) list_matrix(list, sources, i, stack.matrix(i));
                      }});
  }

  // Several vectors, one behind the other, as one item. Names may be empty: the architecture has no such vector.
  void vector(const std::vector<VectorSpec>& specs, Operand& place) {
    std::vector<const GgufTensor*> sources;
    size_t bytes = 0;
    for (const VectorSpec& spec : specs) {
      if (spec.name.empty()) continue;
      const std::vector<int64_t> one{spec.length}, several{spec.length, spec.count};
      const GgufTensor& tensor = known(spec.name, spec.count > 1 ? several : one);
      if (tensor.type != StorageType::f32 && tensor.type != StorageType::f16 && tensor.type != StorageType::bf16) {
        throw Error(std::string("a vector of type ") + info(tensor.type).name + ", expected F32, F16 or BF16",
                    file_.path() + ": tensor '" + spec.name + "'");
      }
      sources.push_back(&tensor);
      bytes += static_cast<size_t>(spec.length * spec.count) * sizeof(float);
    }
    if (sources.empty()) return;
    items_.push_back({bytes, &place,
                      [&place, sources = std::move(sources)](PackingList& list) { list.add_vector(place, sources); }});
  }

  // Files store a stack in three ways. There is one tensor for each matrix, or one tensor of three dimensions, or one
  // of two dimensions with the matrices below each other.
  Stacked stacked_tensors(const StackedSpec& spec, int64_t count) {
    if (file_.find(spec.name) == nullptr && !spec.prefix.empty() && file_.find(spec.prefix + "0.weight") != nullptr)
      return one_for_each(spec, count);
    const int64_t columns = spec.file_columns(), rows = spec.file_pitch();
    const GgufTensor* found = file_.find(spec.name);
    // Matrices below each other have two dimensions. A stack of one matrix has two significant ones as well, but its
    // shape is the same either way.
    const bool below = found != nullptr && significant(found->shape).size() == 2 && count > 1;
    const GgufTensor& tensor =
        below ? known(spec.name, {columns, count * rows}) : known(spec.name, {columns, rows, count});
    return {&spec, {&tensor}};
  }

  // A stack has one packed format, so the tensors of all its matrices must have one type.
  Stacked one_for_each(const StackedSpec& spec, int64_t count) {
    Stacked stacked{&spec, {}};
    for (int64_t i = 0; i < count; ++i) {
      const std::string name = spec.prefix + std::to_string(i) + ".weight";
      const GgufTensor& tensor = known(name, {spec.file_columns(), spec.file_pitch()});
      stacked.tensors.push_back(&tensor);
      if (tensor.type != stacked.tensors[0]->type) {
        throw Error(std::string("a tensor of type ") + info(tensor.type).name + ", expected " +
                        info(stacked.tensors[0]->type).name + " as those of the other experts",
                    file_.path() + ": tensor '" + name + "'", "use a file with one type for all experts of a layer");
      }
    }
    return stacked;
  }

  // Remembers the name for refuse_unknown_tensors(), and checks the shape.
  const GgufTensor& known(const std::string& name, const std::vector<int64_t>& shape) {
    names_.insert(name);
    return require_shaped(file_, name, shape);
  }

  const GgufFile& file_;
  sync::Pool& pool_;
  PackingList packing_;
  std::vector<Item> items_;         // of the current slot
  std::vector<RecordPart> record_;  // of the current slot
  std::vector<SlotPlan> slots_;
  std::vector<ExpertRecords> records_;
  std::set<std::string> names_;
};

}  // namespace

// State of a loading. The threads pack jobs of loader_'s list; everything else happens on the owner's thread.
class ModelLoading::State {
 public:
  State(const GgufFile& file, sync::Pool& pool, int64_t most_layers) : file_(file), loader_(file, pool) {
    list(most_layers);
  }
  ~State() { loader_.packing().stop(); }

  const ModelConfig& config() const { return model_.config; }

  std::vector<size_t> slot_bytes() const { return loader_.slot_bytes(); }
  const std::vector<ExpertRecords>& records() const { return loader_.records(); }
  void pack_pieces(int threads, size_t most_bytes, const LoadProgress& progress, const TakePiece& take) {
    TANDEM_CHECK(!placed_, "weights that have no places yet");
    file_.expect_sequential_reads();
    loader_.pack_pieces(threads, most_bytes, progress, take);
    file_.drop_all_pages();
  }

  // Packs on threads of its own. The first thread calls `before` and packs afterwards. An exception of `before` stops
  // the packing, and finish() throws it.
  void start(int threads, std::function<void()> before) {
    place();
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, before = std::exchange(before, {})] {
        try {
          if (before) before();
        } catch (...) {
          problem_ = std::current_exception();
          return loader_.packing().stop();
        }
        loader_.packing().work();
      });
    }
  }

  void widen(int threads) {
    while (std::cmp_less(threads_.size(), threads)) threads_.emplace_back([this] { loader_.packing().work(); });
  }

  // Packs the jobs that remain, with the threads of start() among the workers. Clearing threads_ joins them, so
  // problem_ is read without a lock.
  Model finish(int threads, const LoadProgress& progress) {
    place();
    loader_.packing().finish(threads, progress);
    threads_.clear();
    if (problem_) std::rethrow_exception(problem_);
    file_.drop_all_pages();  // drops the pages of the metadata, the last ones
    return std::move(model_);
  }

  // The slots come from the packed file, so there is nothing left to pack.
  void take(PackedFile& packed, PackedUse use, std::span<const MovingExperts> moving) {
    TANDEM_CHECK(!std::exchange(placed_, true), "weights that are being packed already");
    model_.weights.moving.assign(moving.begin(), moving.end());
    placed(loader_.place_all(packed, use, moving));
  }

 private:
  void list(int64_t most_layers);
  void place();
  void placed(std::vector<sync::Slot*> slots);

  const GgufFile& file_;
  ModelSpec spec_;  // the loader borrows it
  Loader loader_;
  Model model_;
  bool placed_ = false;
  std::exception_ptr problem_;  // the first thread's; read after it has been joined
  std::vector<std::jthread> threads_;
};

// Lists all items in the order of the slots, and checks every tensor's shape on the way. With fewer layers than the
// file has, the other layers' tensors are not unknown, so that check is left out.
void ModelLoading::State::list(int64_t most_layers) {
  const Architecture& architecture = find_architecture(file_);
  ModelConfig& config = model_.config = read_config(file_);
  // A small file may claim thousands of layers. This check comes before names are made for all of their tensors.
  if (static_cast<uint64_t>(config.layers) > file_.tensors().size()) {
    throw Error("the file has fewer tensors than layers: expected at least one for each of the " +
                    std::to_string(config.layers) + " layers, found " + std::to_string(file_.tensors().size()),
                file_.path(), "the tensors contradict the metadata: the file is damaged");
  }
  const bool whole = most_layers <= 0 || most_layers >= config.layers;
  if (!whole) config.layers = most_layers;
  spec_ = model_spec(architecture, config, file_);
  const ModelSpec& spec = spec_;
  ModelWeights& weights = model_.weights;
  loader_.add(spec.embedding, weights.embedding);
  if (!spec.position_embedding.name.empty()) loader_.add(spec.position_embedding, weights.position_embedding);
  loader_.add(spec.token_types, weights.token_types);
  loader_.add(spec.embedding_norm, weights.embedding_norm);
  loader_.add(spec.embedding_norm_bias, weights.embedding_norm_bias);
  loader_.end_slot("embedding");
  weights.layers.resize(spec.layers.size());  // before items point into it
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    each_part([this](const auto& from, auto& to) { loader_.add(from, to); }, spec.layers[i], weights.layers[i]);
    loader_.end_slot("layer " + std::to_string(i), static_cast<int64_t>(i));
  }
  loader_.add(spec.output_norm, weights.output_norm);
  loader_.add(spec.output_norm_bias, weights.output_norm_bias);
  loader_.add(spec.output, weights.output);
  if (!config.sees_all) loader_.end_slot("output");  // an encoder has none
  if (whole) loader_.refuse_unknown_tensors(config);
}

void ModelLoading::State::place() {
  if (std::exchange(placed_, true)) return;
  file_.expect_sequential_reads();
  placed(loader_.place_all());
}

// Keeps the slots. A tied output is the embedding's matrix again.
void ModelLoading::State::placed(std::vector<sync::Slot*> slots) {
  ModelWeights& weights = model_.weights;
  weights.slots = std::move(slots);
  weights.records = loader_.records();
  weights.bytes = loader_.bytes_in_slots(weights.moving.empty());
  if (model_.config.tied_output)
    weights.output = {{{weights.embedding, 0}}, weights.embedding.rows, weights.embedding.columns, {}};
}

ModelLoading::ModelLoading(const GgufFile& file, sync::Pool& pool, int64_t most_layers)
    : state_(std::make_unique<State>(file, pool, most_layers)) {}
ModelLoading::~ModelLoading() = default;
const ModelConfig& ModelLoading::config() const { return state_->config(); }
void ModelLoading::widen(int threads) { state_->widen(threads); }
std::vector<size_t> ModelLoading::slot_bytes() const { return state_->slot_bytes(); }
const std::vector<ExpertRecords>& ModelLoading::records() const { return state_->records(); }
void ModelLoading::pack_pieces(int threads, size_t most_bytes, const LoadProgress& progress, const TakePiece& take) {
  state_->pack_pieces(threads, most_bytes, progress, take);
}
void ModelLoading::take(PackedFile& packed, PackedUse use, std::span<const MovingExperts> moving) {
  try {
    state_->take(packed, use, moving);
  } catch (const Error&) {
    packed.require_unchanged();  // a change is the better reason
    throw;
  }
}
void ModelLoading::start(int threads, std::function<void()> before) { state_->start(threads, std::move(before)); }
Model ModelLoading::finish(int threads, const LoadProgress& progress) { return state_->finish(threads, progress); }

Model load_model(const GgufFile& file, sync::Pool& pool, int threads, const LoadProgress& progress) {
  return ModelLoading(file, pool).finish(threads, progress);
}

}  // namespace tandem
