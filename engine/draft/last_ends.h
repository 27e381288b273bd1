// The last end of each state of a suffix automaton: the last place in the text where the state's strings end.
//
// A new token ends the strings of its state, and those of all ancestors by suffix links. Writing each of them would
// take as many steps as the text has tokens if these are equal. So the states lie in a link-cut tree (Sleator and
// Tarjan 1983). Each of its paths holds states with one last end, so that a token changes the end of a path once. This
// takes O(log n) amortized.
//
// Contract: states are numbered 0, 1, 2 ... in the order in which they are added. State 0 is the root. Not thread-safe:
// even of() moves nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

class LastEnds {
 public:
  LastEnds() { add(-1); }                                                    // the root, which ends nowhere
  void add(int32_t end);                                                     // the next state
  void set_parent(int32_t state, int32_t parent) { at(state).up = parent; }  // once, before anything else happens to it
  void insert_above(int32_t child);  // the next state, between `child` and its parent; it ends where the child ends
  // Says that the strings of this state, and of its ancestors, end at `end`.
  void record(int32_t state, int32_t end);
  int32_t of(int32_t state);
  size_t bytes() const { return nodes_.capacity() * sizeof(Node); }

 private:
  // A node of a splay tree, which holds the states of one path in the order of their depth.
  struct Node {
    int32_t left, right;  // shallower and deeper states; -1: none
    int32_t up;           // its parent in the splay tree; at the tree's root, the state above the whole path
    int32_t end;          // of the whole path; only the root's value is valid
  };
  Node& at(int32_t state) { return nodes_[static_cast<size_t>(state)]; }
  bool is_root(int32_t state);
  void rotate(int32_t state);
  void splay(int32_t state);

  std::vector<Node> nodes_;
};

}  // namespace tandem
