// Engine with the types that its accessors return, for code inside this tree.
#pragma once

#include "engine/draft/acceptance_rates.h"
#include "engine/graph/activations.h"
#include "engine/run/choice/expert_use.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/pass_plans.h"
#include "tandem/engine.h"
