// The activations of a feed-forward block: y = gate / (1 + exp(-t)) * up (Shazeer 2020, arXiv:2002.05202). Kernels of
// both families include this file; it is never built alone.
//   SwiGLU: t = gate. GEGLU by tanh (-DACTIVATION=1): t = 2 sqrt(2 / pi) * (gate + 0.044715 gate^3),
//   since 1 + tanh(u) = 2 / (1 + exp(-2 u)). Squared ReLU (-DACTIVATION=2): y = gate * max(gate, 0) * up
//   (So et al. 2021, arXiv:2109.08668). Clamped (-DACTIVATION=3): t = 1.702 gate, gate is at most 7, and up + 1 takes
//   the place of up, which is within [-7, 7]. -DGATED=0 leaves out the product with up, and does not read it.
//   -DROUND_F16=1 rounds y to f16.
#ifndef ROUND_F16
#define ROUND_F16 0
#endif
#ifndef ACTIVATION
#define ACTIVATION 0  // engine/tensor/activation.h
#endif
#ifndef GATED
#define GATED 1
#endif
