// Sums four products of signed bytes by OpSDot of SPV_KHR_integer_dot_product, for which glslang 12 has no name. Other
// shaders include this file; it is never built alone. The capabilities are DotProduct and DotProductInput4x8BitPacked;
// format 0 is four bytes in a word.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int packed_dot(uint a, uint b, spirv_literal int format);
