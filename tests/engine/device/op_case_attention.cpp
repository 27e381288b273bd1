#include <algorithm>
#include <cmath>

#include "tests/engine/device/op_case.h"

namespace tandem::testing {
namespace {

// The tokens of one more sequence in the batch: positions first .. first + S - 1, or a tree that begins at `first`.
struct Part {
  int64_t S, first;
  std::vector<int32_t> parents{};  // in a tree: the parent of each token, or -1 if it follows the text
};

Part tree(int64_t first, const std::vector<int32_t>& parents) { return {std::ssize(parents), first, parents}; }

struct AttentionShape {
  int64_t S, first;  // positions first .. first + S - 1
  int64_t heads, kv_heads, head_dim, head_dim_v, capacity;
  KvType type;
  bool round;
  int64_t window = 0;
  float cap = 0;
  std::vector<Part> others{};
  bool alone = false;  // each token of a tree has a sequence of its own, behind its ancestors
  bool sinks = false;
  bool sees_all = false;  // each token sees all tokens of its sequence
  float slope = 0;        // of the steepest head; 0: no slopes

  std::vector<Part> parts() const {
    std::vector<Part> all{{S, first}};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
  int64_t tokens() const {
    int64_t sum = 0;
    for (const Part& part : parts()) sum += part.S;
    return sum;
  }
};

constexpr float kKeyMagnitude = 1.5f, kQueryMagnitude = 2.0f, kValueMagnitude = 1.0f;

std::string name_of(const char* op, const AttentionShape& shape) {
  return std::string(op) + (shape.type == KvType::f16 ? " f16" : " f32") + " S=" + std::to_string(shape.S) +
         " from=" + std::to_string(shape.first) + " heads=" + std::to_string(shape.heads) + "/" +
         std::to_string(shape.kv_heads) + " dim=" + std::to_string(shape.head_dim) + "/" +
         std::to_string(shape.head_dim_v) + (shape.round ? " rounded" : "") +
         (shape.window != 0 ? " window=" + std::to_string(shape.window) : "") +
         (shape.cap > 0 ? " cap=" + std::to_string(shape.cap) : "") +
         (shape.others.empty() ? "" : " sequences=" + std::to_string(shape.others.size() + 1)) +
         (std::ranges::any_of(shape.others, [](const Part& part) { return !part.parents.empty(); }) ? " trees" : "") +
         (shape.alone ? " alone" : "") + (shape.sinks ? " sinks" : "") + (shape.sees_all ? " all" : "") +
         (shape.slope > 0 ? " slope=" + std::to_string(shape.slope) : "");
}

template <typename T>
void put(const Operand& operand, int64_t index, float value) {
  if constexpr (sizeof(T) == sizeof(uint16_t))
    operand.as<uint16_t>()[index] = float_to_half(value);
  else
    operand.as<float>()[index] = value;
}

// A segment of the batch.
struct Run {
  size_t part;
  int64_t tokens, first, sequence;
  std::vector<int32_t> path{};  // for a token of a tree: its ancestors and itself, as indices in the tree, from the
                                // root on
};

std::vector<Run> runs_of(const AttentionShape& shape) {
  std::vector<Run> runs;
  int64_t sequences = 0;
  const std::vector<Part> parts = shape.parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.parents.empty()) runs.push_back({i, part.S, part.first, sequences});
    for (int32_t token = 0; token < std::ssize(part.parents); ++token) {
      Run run{i, 1, 0, sequences};
      for (int32_t at = token; at >= 0; at = part.parents[at]) run.path.insert(run.path.begin(), at);
      run.first = part.first + std::ssize(run.path) - 1;
      runs.push_back(run);
      if (shape.alone && token + 1 < std::ssize(part.parents)) ++sequences;
    }
    ++sequences;
  }
  return runs;
}

// A key and a value for each KV head.
struct CachedToken {
  std::vector<float> keys, values;
};

template <typename T>
void put(const KvCache& cache, int64_t cell, const CachedToken& token) {
  for (int64_t h = 0; h < cache.kv_heads; ++h) {
    for (int64_t d = 0; d < cache.head_dim; ++d)
      put<T>(cache.k, cache.k_index(cell, h, d), token.keys[h * cache.head_dim + d]);
    for (int64_t d = 0; d < cache.head_dim_v; ++d)
      put<T>(cache.v, cache.v_index(cell, h, d), token.values[h * cache.head_dim_v + d]);
  }
}

// Fills the places that each segment's tokens see. Other places keep the NaN fill, which shows a kernel that
// reads them.
void fill(const KvCache& cache, const Segments& segments, const AttentionShape& shape, std::mt19937& random) {
  const auto token = [&] {
    return CachedToken{random_floats(random, cache.kv_heads * cache.head_dim, kKeyMagnitude),
                       random_floats(random, cache.kv_heads * cache.head_dim_v, kValueMagnitude)};
  };
  const std::vector<Part> parts = shape.parts();
  const std::vector<Run> runs = runs_of(shape);
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<CachedToken> text;  // for a tree: the text before it, then its tokens
    for (int64_t at = 0; at < parts[i].first + parts[i].S; ++at) text.push_back(token());
    for (size_t run = 0; run < runs.size(); ++run) {
      if (runs[run].part != i) continue;
      for (int64_t p = 0; p < runs[run].first + runs[run].tokens; ++p) {
        const bool in_tree = !runs[run].path.empty() && p >= parts[i].first;
        const int64_t at = in_tree ? parts[i].first + runs[run].path[p - parts[i].first] : p;
        const int64_t cell = cell_of(segments, cache, static_cast<int64_t>(run), p);
        shape.type == KvType::f16 ? put<uint16_t>(cache, cell, text[at]) : put<float>(cache, cell, text[at]);
      }
    }
  }
}

// Pages lie in falling order and alternate with those of the other sequences. No sequence uses the first page.
Segments make_segments(CaseMemory& memory, const AttentionShape& shape) {
  const std::vector<Part> parts = shape.parts();
  const std::vector<Run> runs = runs_of(shape);
  const int64_t sequences = runs.back().sequence + 1, each = pages_of(shape.capacity);
  Segments segments;
  segments.count = std::ssize(runs);
  for (const Run& run : runs) segments.depth = std::max(segments.depth, shape.alone ? 0 : std::ssize(run.path));
  std::vector<int32_t> begins{0}, pages, paths;
  for (const Run& run : runs) {
    begins.push_back(begins.back() + static_cast<int32_t>(run.tokens));
    for (int64_t page = 0; page < each; ++page)
      pages.push_back(static_cast<int32_t>(1 + (each - 1 - page) * sequences + run.sequence));
    const auto first = static_cast<int32_t>(parts[run.part].first);
    paths.push_back(run.path.empty() ? kNoTree : first);
    for (const int32_t at : run.path) paths.push_back(first + at);
    paths.resize(static_cast<size_t>(std::ssize(pages) / each * (1 + segments.depth)), -1);
  }
  if (segments.count > 1) segments.begins = memory.ids(begins, "begins");
  segments.pages = memory.ids(pages, "pages");
  if (segments.depth > 0) segments.paths = memory.ids(paths, "paths");
  return segments;
}

// The cache uses activation slots instead of device_local ones, because the host fills and reads it here.
KvCache make_cache(CaseMemory& memory, const AttentionShape& shape) {
  const int64_t pages = 1 + (runs_of(shape).back().sequence + 1) * pages_of(shape.capacity);
  KvCache cache = kv_cache(shape.type, shape.kv_heads, shape.head_dim, shape.head_dim_v, shape.capacity, pages);
  cache.k = memory.take(cache.k_bytes(), sync::SlotUse::activations, true, "cache k");
  cache.v = memory.take(cache.v_bytes(), sync::SlotUse::activations, true, "cache v");
  return cache;
}

std::vector<int32_t> positions_of(const AttentionShape& shape) {
  std::vector<int32_t> positions;
  for (const Run& run : runs_of(shape))
    for (int64_t s = 0; s < run.tokens; ++s) positions.push_back(static_cast<int32_t>(run.first + s));
  return positions;
}

// The last position that each token sees.
std::vector<int32_t> last_seen_of(const AttentionShape& shape) {
  if (!shape.sees_all) return positions_of(shape);
  std::vector<int32_t> positions;
  for (const Run& run : runs_of(shape))
    positions.insert(positions.end(), static_cast<size_t>(run.tokens),
                     static_cast<int32_t>(run.first + run.tokens - 1));
  return positions;
}

// Each head's slope is two thirds of the one before.
void give_slopes(CaseMemory& memory, const AttentionShape& shape, Attention& op) {
  op.has_slopes = shape.slope > 0;
  if (!op.has_slopes) return;
  std::vector<float> slopes{shape.slope};
  while (std::ssize(slopes) < shape.heads) slopes.push_back(slopes.back() / 1.5f);
  op.slopes = memory.floats(slopes, "slopes");
  op.token_positions = memory.ids(positions_of(shape), "positions of tokens");
}

// Builds an attention over a filled cache with random queries, and derives the largest error of a value.
BuiltCase build_attention(CaseMemory& memory, const AttentionShape& shape) {
  std::mt19937 random(static_cast<uint32_t>(shape.first * 7 + shape.S));
  Attention op;
  op.S = shape.tokens(), op.heads = shape.heads, op.round_f16 = shape.round;
  op.score = {1.0f / std::sqrt(static_cast<float>(shape.head_dim)), shape.cap};
  op.window = shape.window;
  op.cache = make_cache(memory, shape);
  op.segments = make_segments(memory, shape);
  fill(op.cache, op.segments, shape, random);
  int64_t count = 0;  // the most positions that a token sees
  for (const Run& run : runs_of(shape)) count = std::max(count, run.first + run.tokens);
  const int64_t q_width = shape.heads * shape.head_dim, y_width = shape.heads * shape.head_dim_v;
  op.q_stride = q_width + 5, op.y_stride = y_width + 3;
  op.q = memory.matrix(random_floats(random, op.S * q_width, kQueryMagnitude), q_width, op.q_stride, "q");
  op.y = memory.empty_matrix(op.S, y_width, op.y_stride, "y");
  op.positions = memory.ids(last_seen_of(shape), "positions");
  op.sees_all = shape.sees_all;
  give_slopes(memory, shape, op);
  op.has_sinks = shape.sinks;
  if (shape.sinks) op.sinks = memory.floats(random_floats(random, shape.heads, 4.0f), "sinks");
  op.scratch = memory.take(attention_scratch_bytes(op.S, shape.heads, shape.head_dim_v, shape.capacity),
                           sync::SlotUse::device_local, true, "scratch");
  // A score is off by d + 1 roundings of at most scale * d * |q| * |k|, and a weight by that factor. Softmax, the sum
  // over the positions and the quotient add count + 30 roundings. All weights are positive and sum to one. So the value
  // is off by that factor of |v|, twice (numerator and denominator). A cap itself adds two roundings and those of an
  // exponential, a sum and a quotient below 2. The slope of the cap is at most 1. A bias adds one rounding of at most
  // its own size, and the difference to the largest score another one.
  const double dim = static_cast<double>(shape.head_dim);
  const double score = (dim + 1) * kEpsilon * op.score.scale * dim * kQueryMagnitude * kKeyMagnitude +
                       (shape.cap > 0 ? 8 * kEpsilon * shape.cap : 0) +
                       2 * kEpsilon * shape.slope * static_cast<double>(count);
  const double bound = 2 * kValueMagnitude * (score + (static_cast<double>(count) + 30) * kEpsilon);
  const auto tolerance = [=, round = shape.round](int64_t, int64_t, double expected, bool) {
    return bound + (round ? std::fabs(expected) * kHalfStep + 0x1p-24 : 0);
  };
  return {{"attention", op}, {{"y", op.y, op.S, y_width, op.y_stride, ElementType::f32, tolerance}}};
}

BuiltCase build_append(CaseMemory& memory, const AttentionShape& shape) {
  std::mt19937 random(static_cast<uint32_t>(shape.first + shape.S));
  KvAppend op;
  op.S = shape.tokens();
  op.cache = make_cache(memory, shape);
  op.segments = make_segments(memory, shape);
  const int64_t k_width = shape.kv_heads * shape.head_dim, v_width = shape.kv_heads * shape.head_dim_v;
  op.k_stride = k_width + 3, op.v_stride = v_width + 7;
  op.k = memory.matrix(random_floats(random, op.S * k_width, 3.0f), k_width, op.k_stride, "k");
  op.v = memory.matrix(random_floats(random, op.S * v_width, 3.0f), v_width, op.v_stride, "v");
  op.positions = memory.ids(positions_of(shape), "positions");
  const auto k_bytes = static_cast<int64_t>(op.cache.k_bytes()), v_bytes = static_cast<int64_t>(op.cache.v_bytes());
  return {{"kv_append", op},
          {{"cache k", op.cache.k, 1, k_bytes, k_bytes, ElementType::bytes, {}},
           {"cache v", op.cache.v, 1, v_bytes, v_bytes, ElementType::bytes, {}}}};
}

}  // namespace

namespace {

// The tree has depths 1 to 4, two roots, and an order that is hard for paths: the last token's path is 1, 3, 6, 8.
const std::vector<int32_t> kTree = {-1, -1, 0, 1, 2, 0, 3, 3, 6};

std::vector<AttentionShape> shapes_with_trees(KvType type) {
  std::vector<int32_t> deep{-1};  // a branch at every second token of the longest path: 24 tokens, 16 deep
  for (int32_t i = 1; i < 24; ++i) deep.push_back(i % 3 == 2 ? i - 2 : i - 1);
  std::vector<AttentionShape> shapes{
      // The trees cross a page's edge, beside pieces and single tokens. A window begins within the trees.
      {9, 240, 9, 3, 64, 64, 512, type, true, 0, 0, {tree(253, kTree), {1, 255}, tree(250, deep)}},
      {0, 0, 4, 1, 32, 32, 512, type, false, 5, 0, {tree(255, deep), tree(10, deep)}},
      // Trees at the beginning of a text and in a cache's last places; a window that begins before the tree; caps;
      // latent attention.
      {1, 300, 3, 1, 64, 64, 640, type, false, 0, 0, {tree(0, kTree), tree(631, kTree), {2, 17}}},
      {2, 500, 6, 2, 48, 20, 640, type, false, 190, 2.0f, {tree(508, kTree), {3, 17}}},
      {0, 0, 2, 1, 33, 17, 320, type, false, 0, 1.5f, {tree(200, deep)}},
      {0, 0, 6, 1, 576, 512, 320, type, false, 0, 0, {tree(254, kTree)}}};
  if (type == KvType::f32) shapes.resize(2);  // each further shape is another kernel to compile
  return shapes;
}

// The type of keys and values only changes how they are loaded. Each shape is another kernel to compile for each type.
// So f32 has one width that fills vectors and others that do not.
bool has_f32(int64_t head_dim) { return head_dim == 64 || head_dim % 16 != 0; }

OpCase attention_case(const AttentionShape& shape) {
  return {name_of("attention", shape), [shape](CaseMemory& memory) { return build_attention(memory, shape); }};
}

}  // namespace

std::vector<std::pair<OpCase, OpCase>> attention_cases_of_trees() {
  std::vector<std::pair<OpCase, OpCase>> cases;
  for (KvType type : {KvType::f16, KvType::f32})
    for (const AttentionShape& shape : shapes_with_trees(type)) {
      AttentionShape alone = shape;
      alone.alone = true;
      cases.emplace_back(attention_case(shape), attention_case(alone));
    }
  return cases;
}

std::vector<OpCase> attention_cases() {
  std::vector<AttentionShape> shapes;
  // All heads of one width have the same number of queries for each head of keys. Another number is another kernel
  // to compile.
  for (KvType type : {KvType::f16, KvType::f32}) {
    std::ranges::copy(shapes_with_trees(type), std::back_inserter(shapes));
    const std::vector<AttentionShape> of_type = {
        {1, 0, 3, 1, 64, 64, 64, type, false},
        {1, 15, 3, 1, 16, 16, 64, type, false},
        {1, 16, 4, 1, 32, 32, 64, type, false},
        {1, 63, 3, 1, 64, 64, 128, type, true},
        {1, 64, 9, 3, 64, 64, 128, type, false},
        {1, 255, 4, 4, 80, 80, 320, type, false},
        {1, 256, 3, 1, 64, 64, 512, type, false},
        {1, 600, 4, 1, 128, 128, 640, type, true},
        {7, 0, 9, 3, 64, 64, 64, type, true},
        {9, 12, 4, 1, 32, 32, 64, type, false},
        {8, 250, 3, 1, 64, 64, 512, type, false},
        {33, 240, 2, 2, 80, 80, 320, type, false},
        {64, 0, 3, 1, 16, 16, 64, type, false},
        {3, 509, 4, 1, 128, 128, 512, type, false},
        {2, 70, 6, 2, 48, 20, 128, type, false},
        {4, 61, 6, 2, 33, 17, 128, type, false},
        {70, 200, 4, 1, 32, 32, 320, type, true},
        // Windows: of one position, within a split, over its edge, over whole splits, and longer than the text. One has
        // tiles whose queries begin to see in different splits.
        {3, 5, 4, 1, 32, 32, 64, type, false, 1},
        {1, 600, 6, 2, 64, 64, 640, type, false, 40},
        {1, 530, 6, 2, 64, 64, 640, type, true, 300},
        {9, 700, 3, 1, 16, 16, 768, type, false, 190},
        {70, 480, 4, 1, 32, 20, 640, type, false, 256},
        {7, 30, 6, 2, 48, 48, 64, type, false, 64},
        // Chunks (below 0): within a split, over its edge, of whole splits, and with queries of several chunks.
        {1, 600, 6, 2, 64, 64, 640, type, false, -96},
        {9, 700, 3, 1, 16, 16, 768, type, false, -233},
        {70, 480, 4, 1, 32, 20, 640, type, true, -512},
        {33, 60, 6, 2, 48, 48, 128, type, false, -7},
        // Soft caps: one bends most scores, one hardly any, one stands in a window.
        {1, 300, 6, 2, 64, 64, 320, type, false, 0, 0.75f},
        {1, 700, 3, 1, 32, 20, 768, type, true, 0, 50.0f},
        {9, 250, 6, 2, 48, 48, 320, type, false, 0, 2.0f},
        {70, 480, 4, 1, 32, 20, 640, type, false, 256, 1.5f},
        // Latent attention: keys are values plus 64 elements, with one head for all queries.
        {1, 300, 6, 1, 576, 512, 320, type, false},
        {3, 254, 4, 1, 576, 512, 320, type, true},
        // Several sequences: one token each, deep and shallow; pieces beside single tokens; one sequence without
        // a token.
        {1, 0, 3, 1, 64, 64, 640, type, false, 0, 0, {{1, 600}, {1, 255}, {1, 256}}},
        {33, 240, 9, 3, 64, 64, 512, type, true, 0, 0, {{1, 300}, {0, 0}, {7, 0}, {5, 254}}},
        {2, 500, 6, 2, 48, 20, 640, type, false, 190, 2.0f, {{3, 17}, {1, 639}}}};
    // Sinks: in one split, in several, in a window, beside a tree and with a cap.
    for (AttentionShape shape : {AttentionShape{1, 63, 4, 1, 32, 32, 64, type, false},
                                 {9, 700, 3, 1, 64, 64, 768, type, false, 190},
                                 {1, 600, 6, 2, 64, 64, 640, type, true, 0, 0, {{7, 254}}},
                                 {2, 500, 6, 2, 33, 17, 640, type, false, 0, 2.0f, {tree(508, kTree)}}}) {
      shape.sinks = true;
      if (type == KvType::f16) shapes.push_back(shape);
    }
    // Tokens see a whole text, in a batch of one and of four. Then scores fall with the distance: on both sides of a
    // token, over a split's edge, in a window, with a cap, and along the paths of a tree.
    for (AttentionShape shape : {AttentionShape{9, 0, 6, 2, 64, 64, 64, type, false},
                                 {33, 240, 4, 4, 80, 80, 320, type, true, 0, 0, {{1, 0}, {7, 0}, {70, 200}}}}) {
      shape.sees_all = true;
      if (type == KvType::f16) shapes.push_back(shape);
      shape.slope = 0.5f;
      shapes.push_back(shape);
    }
    for (AttentionShape shape : {AttentionShape{1, 600, 6, 2, 64, 64, 640, type, false},
                                 {9, 700, 3, 1, 16, 16, 768, type, false, 190},
                                 {2, 500, 6, 2, 48, 20, 640, type, true, 0, 2.0f, {tree(508, kTree), {3, 17}}}}) {
      shape.slope = 0.25f;
      if (type == KvType::f16) shapes.push_back(shape);
    }
    for (const AttentionShape& shape : of_type)
      if (type == KvType::f16 || has_f32(shape.head_dim)) shapes.push_back(shape);
  }
  std::vector<OpCase> cases;
  for (const AttentionShape& shape : shapes) cases.push_back(attention_case(shape));
  return cases;
}

std::vector<OpCase> kv_append_cases() {
  std::vector<OpCase> cases;
  for (KvType type : {KvType::f16, KvType::f32})
    for (const AttentionShape& shape :
         {AttentionShape{1, 0, 0, 1, 64, 64, 64, type, false}, AttentionShape{1, 63, 0, 3, 80, 80, 64, type, false},
          AttentionShape{7, 13, 0, 3, 64, 64, 64, type, false}, AttentionShape{33, 15, 0, 2, 20, 36, 128, type, false},
          AttentionShape{5, 13, 0, 3, 17, 33, 64, type, false},
          AttentionShape{64, 64, 0, 4, 128, 128, 128, type, false},
          AttentionShape{3, 15, 0, 1, 576, 512, 64, type, false},
          AttentionShape{3, 254, 0, 2, 20, 36, 320, type, false, 0, 0, {{1, 0}, {0, 0}, {9, 250}, {1, 319}}},
          AttentionShape{2, 250, 0, 2, 36, 17, 320, type, false, 0, 0, {tree(250, kTree), {1, 0}, tree(0, kTree)}}})
      cases.push_back(
          {name_of("kv_append", shape), [shape](CaseMemory& memory) { return build_append(memory, shape); }});
  return cases;
}

}  // namespace tandem::testing
