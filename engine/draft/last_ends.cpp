#include "engine/draft/last_ends.h"

#include "engine/draft/growth.h"

namespace tandem {

// A state begins as a path of its own.
void LastEnds::add(int32_t end) { push_back_tightly(nodes_, {-1, -1, -1, end}); }

// The new state joins the path of the child, directly above it.
void LastEnds::insert_above(int32_t child) {
  const auto state = static_cast<int32_t>(nodes_.size());
  splay(child);
  const int32_t above = at(child).left;
  push_back_tightly(nodes_, {above, -1, child, -1});
  if (above >= 0) at(above).up = state;
  at(child).left = state;
}

// Joins the paths between the root and the state to one. If a path goes on below, its lower part becomes a path of its
// own, which keeps its end.
void LastEnds::record(int32_t state, int32_t end) {
  int32_t below = -1;
  for (int32_t each = state; each >= 0; each = at(each).up) {
    splay(each);
    if (at(each).right >= 0) at(at(each).right).end = at(each).end;
    at(each).right = below;
    below = each;
  }
  splay(state);
  at(state).end = end;
}

// A path keeps its end in the root of its splay tree, so the state is brought there first.
int32_t LastEnds::of(int32_t state) {
  splay(state);
  return at(state).end;
}

// A root is a node without a parent in its own tree. `up` of it leads to another path.
bool LastEnds::is_root(int32_t state) {
  const int32_t up = at(state).up;
  return up < 0 || (at(up).left != state && at(up).right != state);
}

// Exchanges a node and its parent in the splay tree.
void LastEnds::rotate(int32_t state) {
  const int32_t parent = at(state).up, grandparent = at(parent).up;
  if (is_root(parent)) {
    at(state).end = at(parent).end;
  } else {
    (at(grandparent).left == parent ? at(grandparent).left : at(grandparent).right) = state;
  }
  const bool is_left = at(parent).left == state;
  int32_t& inner = is_left ? at(state).right : at(state).left;
  (is_left ? at(parent).left : at(parent).right) = inner;
  if (inner >= 0) at(inner).up = parent;
  inner = parent;
  at(parent).up = state;
  at(state).up = grandparent;
}

// Rotates a node to the root of its tree, two steps at a time. The order of the two keeps trees flat on average.
void LastEnds::splay(int32_t state) {
  while (!is_root(state)) {
    const int32_t parent = at(state).up;
    if (!is_root(parent)) {
      const bool same_side = (at(at(parent).up).left == parent) == (at(parent).left == state);
      rotate(same_side ? parent : state);
    }
    rotate(state);
  }
}

}  // namespace tandem
