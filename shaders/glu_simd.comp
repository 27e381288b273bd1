// The activation of a feed-forward block: y = activation(gate) * up. glu_of.glsl has the activations.
//
// Layout: gate, up, y f32 at s*stride + i.
// Work: a work-group of 16 is a run of `chunk` elements of a row (dimension 0) of one token (dimension 1). Its
//   invocations take every 16th element.
// Limits: chunk is a multiple of 16, on lavapipe at most TANDEM_MAX_CHUNK; y may be gate or up. ROUND_F16 rounds y
//   to f16.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 16
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "glu_of.glsl"
#include "limits.h"
#include "runs.glsl"
#include "glu.glsl"
