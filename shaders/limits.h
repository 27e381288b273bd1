// The largest sizes that shaders run on lavapipe, which silently ends all loops of an invocation after 65,535
// iterations in total. GLSL and C++ read this file, so it has plain macros only. The trip-count check proves the
// shaders' bounds from these macros, and lowering refuses larger sizes (engine/device/gpu/lower_support.h). Other
// drivers have no such limit and are not held to these.
#ifndef TANDEM_SHADERS_LIMITS_H
#define TANDEM_SHADERS_LIMITS_H

#define TANDEM_MAX_K 32768  // columns of a weight matrix

#define TANDEM_MAX_CHUNK 524288  // elements of a row that one work-group of an element-wise operator processes

#define TANDEM_MAX_ROW 262144  // elements of a row that a norm, softmax, argmax, top-k or rope runs along

// Mixtures of experts: experts of a layer, experts of one token, choices of all tokens in one
// list, and groups of experts.
#define TANDEM_MAX_EXPERTS 512
#define TANDEM_MAX_CHOICES_OF_TOKEN 32
#define TANDEM_MAX_CHOICES 32768
#define TANDEM_MAX_EXPERT_GROUPS 32

#define TANDEM_MAX_SUM_CHUNK 16384  // elements of a row that one work-group of a weighted sum of experts processes

// Attention: elements of a head (key or value), positions of a cache, and splits of it that one work-group runs in
// turn. Longer caches need one work-group for each split.
#define TANDEM_MAX_HEAD_DIM 576
#define TANDEM_MAX_POSITIONS 262144
#define TANDEM_MAX_SPLITS_IN_TURN 4

#define TANDEM_MAX_SEGMENTS 256  // runs of tokens of one sequence in a batch

#define TANDEM_LITMUS_LOOKS 32768  // looks that one side of a litmus test's launch may wait for the other, in all

#define TANDEM_PROBE_LINKS 524288  // links of a waiting policy's work that one dispatch computes

#endif
