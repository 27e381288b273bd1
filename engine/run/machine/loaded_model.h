// LoadedModel with the types that its accessors return, for code inside this tree.
#pragma once

#include "engine/model/gguf.h"
#include "engine/model/tokenizer.h"
#include "engine/model/weights.h"
#include "engine/run/machine/machine.h"
#include "tandem/model.h"
