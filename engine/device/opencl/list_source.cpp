#include "engine/device/opencl/list_source.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <sstream>
#include <string_view>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/opencl/program_cache.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Words that stand in place of a variant (kernels/list.cl).
constexpr uint64_t kSignal = ~uint64_t{2}, kWait = ~uint64_t{1}, kEnd = ~uint64_t{0};

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string name_at(std::string_view line, size_t begin) {
  size_t end = begin;
  while (end < line.size() && is_name(line[end])) ++end;
  return std::string(line.substr(begin, end - begin));
}

// The identifier right before the first '(' of a definition's first line; "": there is none.
std::string function_name(std::string_view line) {
  const size_t open = line.find('(');
  if (open == std::string_view::npos) return "";
  size_t begin = open;
  while (begin > 0 && is_name(line[begin - 1])) --begin;
  return std::string(line.substr(begin, open - begin));
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// Makes kernels inlined functions whose first argument is the work-item's place, which get_global_id() reads.
std::string with_work_item(std::string text) {
  constexpr std::string_view kKernel = "__kernel void ";
  for (size_t at = text.find(kKernel); at != std::string::npos; at = text.find(kKernel, at + 1)) {
    text.replace(at, kKernel.size(), "INLINE void ");
    const size_t open = text.find('(', at);
    text.insert(open + 1, "const size_t *work_item, ");
  }
  return text;
}

}  // namespace

// The list kernel has one work-item, which runs the work-items of a launch in turn. So groups must have a single
// work-item. With many tokens, a launch of its own costs little beside the work.
bool can_be_listed(const KernelLaunch& launch, int64_t most_tokens) {
  return launch.tokens <= most_tokens && launch.local == std::array<size_t, 3>{1, 1, 1};
}

// Relies on the layout of kernels/: definitions begin at the start of a line, and a struct's name follows its brace. A
// function whose name VARIANT_NAME() makes is left out, because this macro adds the suffix itself.
DefinedNames defined_names(const std::string& source) {
  DefinedNames names;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#define ")) add_once(names.macros, name_at(line, 8));
    if (line.starts_with("INLINE ") || line.starts_with("__kernel ")) add_once(names.functions, function_name(line));
    if (line.starts_with("} ")) add_once(names.functions, name_at(line, 2));  // typedef struct { ... } Name;
  }
  std::erase(names.functions, "VARIANT_NAME");
  return names;
}

// Two variants with one hash are unlikely; the later one takes the next number.
uint64_t ListVariants::number_of(const KernelLaunch& launch) {
  Variant variant{launch.source, launch.options, launch.kernel, {}};
  for (const Arg& arg : launch.args) variant.kinds.push_back(arg.index());
  std::string text = variant.source + "|" + variant.options + "|" + variant.kernel;
  for (size_t kind : variant.kinds) text += "|" + std::to_string(kind);
  uint64_t number = gpu::fnv1a(text) >> 16;  // smaller than kSignal, kWait and kEnd
  while (variants_.try_emplace(number, variant).first->second != variant) ++number;
  return number;
}

// For each variant: defines its options and new names, puts its source there, and undefines all of it again. Then CASES
// gets one call for each variant. Example: rms_norm_simd of variant 7 becomes rms_norm_simd_v7.
std::string ListVariants::source(std::span<const uint64_t> chosen) const {
  // A variant's body runs inside the list kernel, so an array holds its ids. Words 0 to 2 are the global id, words 3 to
  // 5 the global size.
  std::string text = "#define get_global_id(d) work_item[d]\n#define get_global_size(d) work_item[3 + (d)]\n";
  // Functions of a list have no local memory of their own, and a work-item is alone in its group.
  text += "#define __local\n#undef VARIANT\n";
  for (uint64_t number : chosen) {
    const Variant& variant = variants_.at(number);
    const std::string body = expand_source(variant.source), suffix = "_v" + std::to_string(number);
    const DefinedNames names = defined_names(body);
    text += "#define VARIANT " + suffix + "\n";
    for (const auto& [macro, value] : gpu::constants(variant.options)) text += "#define " + macro + " " + value + "\n";
    for (const std::string& name : names.functions) text += "#define " + name + " " + name + suffix + "\n";
    text += with_work_item(body);
    for (const std::string& name : names.functions) text += "#undef " + name + "\n";
    for (const std::string& name : names.macros) text += "#undef " + name + "\n";
    for (const auto& [macro, value] : gpu::constants(variant.options)) text += "#undef " + macro + "\n";
    text += "#undef VARIANT\n";
  }
  text += "#undef get_global_id\n#undef get_global_size\n#undef __local\n#define CASES";
  for (uint64_t number : chosen) text += " \\\n" + call(variants_.at(number), number);
  return text + "\n";
}

// The case of one variant: loops over the grid in the record and passes its words as arguments. A buffer takes two
// words, its address and its offset; every other argument takes one.
std::string ListVariants::call(const Variant& variant, uint64_t number) {
  std::string arguments = "work_item";
  size_t word = 0;
  for (size_t kind : variant.kinds) {
    const std::string value = "a[" + std::to_string(word++) + "]";
    // A kind is the index of its type in Arg.
    const Arg sample[] = {BufferArg{}, int32_t{}, uint32_t{}, uint64_t{}, 0.0f};
    if (kind == sample[0].index()) {
      arguments += ", (__global uchar *)(size_t)" + value + ", a[" + std::to_string(word++) + "]";
    } else if (kind == Arg(0.0f).index()) {
      arguments += ", as_float((uint)" + value + ")";
    } else {
      arguments += kind == Arg(int32_t{}).index()    ? ", (int)" + value
                   : kind == Arg(uint32_t{}).index() ? ", (uint)" + value
                                                     : ", " + value;
    }
  }
  return "case " + std::to_string(number) +
         "UL: for (work_item[2] = 0; work_item[2] < at[3]; ++work_item[2])"
         " for (work_item[1] = 0; work_item[1] < at[2]; ++work_item[1])"
         " for (work_item[0] = 0; work_item[0] < at[1]; ++work_item[0]) " +
         variant.kernel + "_v" + std::to_string(number) + "(" + arguments + "); break;";
}

// Layout (kernels/list.cl): variant, three global sizes, words to the next record, arguments.
void append_record(const KernelLaunch& launch, uint64_t variant, std::vector<uint64_t>& records) {
  const size_t begin = records.size();
  records.insert(records.end(), {variant, launch.global[0], launch.global[1], launch.global[2], 0});
  for (const Arg& arg : launch.args) {
    if (const auto* buffer = std::get_if<BufferArg>(&arg)) {
      const uint64_t address = buffer->at ? address_of(buffer->at.slot->data()) : 0;
      records.insert(records.end(), {address, buffer->at ? buffer->at.offset_bytes : 0});
    } else if (const auto* number = std::get_if<float>(&arg)) {
      records.push_back(std::bit_cast<uint32_t>(*number));
    } else if (const auto* whole = std::get_if<int32_t>(&arg)) {
      records.push_back(static_cast<uint32_t>(*whole));
    } else if (const auto* positive = std::get_if<uint32_t>(&arg)) {
      records.push_back(*positive);
    } else {
      records.push_back(std::get<uint64_t>(arg));
    }
  }
  // The length of the record is known only now.
  records[begin + 4] = records.size() - begin;
}

void append_wait(const sync::WaitFor& wait, uint32_t number, std::vector<uint64_t>& records) {
  records.insert(records.end(), {kWait, address_of(&wait.flag.line()), wait.epoch, number, 5});
}

void append_signal(const sync::Signal& signal, std::vector<uint64_t>& records) {
  records.insert(records.end(), {kSignal, address_of(&signal.flag.line()), signal.epoch, 0, 5});
}

void append_end(std::vector<uint64_t>& records) { records.push_back(kEnd); }

}  // namespace tandem::opencl
