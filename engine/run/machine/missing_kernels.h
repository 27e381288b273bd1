// Decides what an engine does while a GPU's kernels are not compiled yet.
//
// Contract: called after the model file is open and before the machine's devices open. begin_without_kernels() starts
// the program that compiles kernels (engine/run/machine/warming.h), and tells the machine which GPU it waits for.
#pragma once

#include "engine/model/gguf.h"
#include "engine/run/machine/machine.h"
#include "tandem/options.h"

namespace tandem {

// Begins without a GPU whose kernels for such a model are not compiled yet, while another process compiles them. If
// nothing is known about the kernels, this process does not load a driver. If the cache folder cannot keep files, no
// process compiles, and the text is written without the GPU.
// With f32 activations bits differ between plans. The text would then depend on when the GPU joins, so this process
// compiles the kernels itself.
void begin_without_kernels(const EngineOptions& options, const GgufFile& file, Machine& machine);

// Whether the kernels of many texts and of trees are compiled already. False if no program would compile them.
bool has_kernels_of_many(const EngineOptions& options, const GgufFile& file);

}  // namespace tandem
