// The fuzz targets: one function for every way by which bytes from outside enter the program.
//
// Contract: a function takes any bytes and returns. A tandem::Error is the right answer to bad bytes and ends inside.
// Everything else is a defect of the program: another exception, a broken property (property.h), a finding of a
// sanitizer, a crash, or an input that takes long. The same bytes run the same way every time. No function writes to
// disk. Commands only read their arguments.
//
// libFuzzer runs the targets one by one (`./dev fuzz`, clang). The ordinary tests run them on the kept inputs
// in corpus/.
#pragma once

#include <cstddef>
#include <span>

namespace tandem::fuzz {

using Bytes = std::span<const std::byte>;

void gguf(Bytes input);              // a model file: header, tensor table, configuration, loading
void gguf_split(Bytes input);        // the parts of a model file in several pieces, and their names
void vocabulary(Bytes input);        // a tokenizer from any model file, then texts through it
void tokenizer(Bytes input);         // any text and any ids through good vocabularies of several kinds
void chat_template(Bytes input);     // a chat template, and perhaps the conversation that it renders
void soc_profile(Bytes input);       // JSON: a processor profile
void npu_params(Bytes input);        // JSON: the NPU's parameters
void measurements(Bytes input);      // JSON: this machine's measurements, as they are kept on disk
void model_shape(Bytes input);       // JSON: a model by its shapes alone, for `tandem plan`
void calibration(Bytes input);       // JSON: how often experts were chosen
void routing_trace(Bytes input);     // lines of JSON: the experts of each token
void recorded_routing(Bytes input);  // the same in any form, and a replay of caches on it
void history(Bytes input);           // the file of earlier texts
void history_index(Bytes input);     // the file beside it, which says where their tokens stand
void json_schema(Bytes input);       // a JSON schema, and then a text by it
void grammar(Bytes input);           // a grammar in llama.cpp's notation, and then a text by it
void request_body(Bytes input);      // JSON: a request for texts to the server
void http_request(Bytes input);      // what a connection sends: a request, and whether it may ask
void reply_text(Bytes input);        // what a model wrote: thoughts, texts and calls of functions
void command_line(Bytes input);      // arguments, separated by zero bytes

struct Target {
  const char* name;
  void (*run)(Bytes input);
};

// The targets of the linked library: those of the model's files, or those of the whole program.
std::span<const Target> targets();

}  // namespace tandem::fuzz
