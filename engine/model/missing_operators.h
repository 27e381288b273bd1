// Published architectures that need an operator which Tandem does not have, with that operator's name.
//
// Contract: a pure function over a constant table. An architecture that is neither here nor supported is just unknown.
#pragma once

#include <string_view>

namespace tandem {

// The operator that a model of the architecture needs: "state-space layers (Mamba)". nullptr: no missing one is known.
const char* missing_operator(std::string_view architecture);

}  // namespace tandem
