// Any bytes are a model or a tandem::Error.
#include "engine/model/gguf.h"

#include <string>

#include "engine/model/architecture.h"
#include "engine/model/loading.h"
#include "sync/error.h"
#include "tests/engine/model/read_all.h"
#include "tests/fuzz/one_in.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {
namespace {

// One in this many inputs runs two parts that take several times longer than all the rest. One reads every key as every
// type, which mostly throws. The other loads the model, which starts threads.
constexpr size_t kOneIn = 16;

size_t bytes_in(const std::vector<std::string_view>& texts) {
  size_t sum = 0;
  for (const std::string_view text : texts) sum += std::string(text).size();
  return sum;
}

// Reads each value as its own type.
void read_values(const GgufFile& file) {
  size_t sum = 0;
  for (const std::string& key : file.keys()) {
    const std::string type = file.type_of(key);
    if (type == "array of string") sum += bytes_in(*file.get_strings(key));
    if (type == "array of f32" || type == "array of f64") sum += file.get_floats(key)->size();
    if (type == "array of i32" || type == "array of u8") sum += file.get_ints(key)->size();
    if (type == "string") sum += file.get_string(key)->size();
    if (type == "bool") sum += *file.get_bool(key);
    if (type == "f32" || type == "f64" || type == "i64") sum += *file.get_float(key) > 0;
    if (type == "u16" || type == "u32" || type == "u64") sum += *file.get_uint(key);
    if (type == "i16" || type == "i32") sum += *file.get_float(key) > 0;
  }
  for (const GgufTensor& tensor : file.tensors()) {
    sum += std::to_integer<size_t>(tensor.data[0]) + std::to_integer<size_t>(tensor.data[tensor.bytes - 1]);
    must_hold(file.find(tensor.name) != nullptr, "a tensor is found by its name");
  }
  [[maybe_unused]] volatile size_t kept = sum;
}

}  // namespace

void gguf(Bytes input) {
  try {
    const GgufFile file = GgufFile::parse(input, "fuzzed.gguf");
    read_values(file);
    read_config(file);
    if (!one_in(kOneIn, input)) return;
    tandem::testing::read_all(file);
    sync::Pool pool;
    load_model(file, pool, 1);
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
