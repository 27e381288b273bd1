// Joins the parts of an online softmax. A split with maximum `next` joins a running maximum `top`: `keep` is the factor
// of the old part, `take` that of the new one.
struct Merge {
  float top, keep, take;
};

Merge merge(const float top, const float next) {
  Merge m;
  m.top = larger(top, next);
  const float base = m.top == -INFINITY ? 0.0 : m.top;
  precise const float old_below = top - base, next_below = next - base;
  m.keep = exp1(old_below);
  m.take = exp1(next_below);
  return m;
}

// Adds the next part to a running part. It is a function of its own, because glslangValidator 11 does not end on
// `precise` results that go back into the array they came from.
float join(const float part, const float take, const float running, const float keep) {
  precise const float joined = fma(part, take, running * keep);
  return joined;
}
