// What is fuzzed: every way by which bytes from outside come into the program, one function each.
//
// Contract: a function takes any bytes and returns. A tandem::Error is what bad bytes deserve and ends inside; anything
// else that escapes, a broken property (property.h), a finding of a sanitizer, a crash, or an input that takes long is
// a defect of the program. The same bytes take the same way every time. Nothing is written to disk; of commands, only
// the arguments are read.
//
// libFuzzer runs them one by one (`./dev fuzz`, clang); the ordinary tests run them over the kept inputs in corpus/.
#pragma once

#include <cstddef>
#include <span>

namespace tandem::fuzz {

using Bytes = std::span<const std::byte>;

void gguf(Bytes input);           // a model file: header, tensor table, configuration, loading
void gguf_split(Bytes input);     // the parts of a model file in several pieces, and their names
void vocabulary(Bytes input);     // a tokenizer from any model file, then texts through it
void tokenizer(Bytes input);      // any text and any ids through good vocabularies of several kinds
void soc_profile(Bytes input);    // JSON: a processor profile
void npu_params(Bytes input);     // JSON: the NPU's parameters
void measurements(Bytes input);   // JSON: what was measured on this machine, as it is kept on disk
void model_shape(Bytes input);    // JSON: a model as shapes alone, for `tandem plan`
void calibration(Bytes input);    // JSON: how often experts were chosen
void routing_trace(Bytes input);  // lines of JSON: which experts each token went to
void command_line(Bytes input);   // arguments, separated by zero bytes

struct Target {
  const char* name;
  void (*run)(Bytes input);
};

// Those of the library that is linked: of the model's files, or of the whole program.
std::span<const Target> targets();

}  // namespace tandem::fuzz
