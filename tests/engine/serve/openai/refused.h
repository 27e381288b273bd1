// What a piece of work refuses.
#pragma once

#include <gtest/gtest.h>

#include "engine/serve/openai/refusal.h"

namespace tandem::serve {

template <typename Work>
Refusal refused_by(const Work& work) {
  try {
    work();
  } catch (const Refusal& refusal) {
    return refusal;
  }
  ADD_FAILURE() << "nothing was refused";
  return {"", ""};
}

}  // namespace tandem::serve
