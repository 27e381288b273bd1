// The activation of a feed-forward block: y = activation(gate) * up. glu_of.glsl has the activations.
//
// Layout: gate, up, y f32 at s*stride + i.
// Work: one invocation per element. Dimension 0 is i in groups of 64, dimension 1 the token. `chunk` is 1.
// Limits: any width; y may be gate or up. ROUND_F16 rounds y to f16.
#version 450
#extension GL_GOOGLE_include_directive : require
#define LANES 64
#include "common.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "glu_of.glsl"
#include "limits.h"
#include "runs.glsl"
#include "glu.glsl"
