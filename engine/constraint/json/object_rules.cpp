#include "engine/constraint/json/object_rules.h"

#include <algorithm>

namespace tandem::constraint {
namespace {

// A grid of states: before member i, with c members written. Counts above `last` share their states.
class ObjectGrid {
 public:
  ObjectGrid(JsonValues& values, const ObjectMembers& object, StateId to)
      : values_(values), net_(values.net()), object_(object), to_(to) {
    const auto& count = object.count;
    // Counts above the bounds never matter. Without other members, no count exceeds the number of names.
    last_ = std::max<int64_t>(1, std::max(count.least, count.most));
    const auto named = static_cast<int64_t>(object.members.size());
    if (object.other < 0) last_ = std::min(last_, std::max<int64_t>(1, named));
  }

  // A row of states stands for each place between members, and a column for each count of members so far.
  void add(StateId from) {
    std::vector<StateId> row = new_row();
    values_.add_before_blank(from, '{', row[0]);
    for (const ObjectMembers::Member& member : object_.members) row = add_member(row, member);
    if (object_.other >= 0) add_others(row);
    for (int64_t written = 0; written <= last_; ++written)
      if (may_close(written)) values_.add_after_blank(row[static_cast<size_t>(written)], '}', to_);
  }

 private:
  std::vector<StateId> new_row() {
    std::vector<StateId> row;
    for (int64_t i = 0; i <= last_; ++i) row.push_back(net_.add_state());
    return row;
  }
  // Whether one more member may come, and whether the object may end here.
  bool may_write(int64_t written) const { return object_.count.most < 0 || written < object_.count.most; }
  bool may_close(int64_t written) const {
    return written >= object_.count.least && (object_.count.most < 0 || written <= object_.count.most);
  }
  int64_t next(int64_t written) const { return std::min(written + 1, last_); }

  // The state in which a name may begin: behind a comma, unless it is the first.
  StateId before_name(StateId from, int64_t written) {
    const StateId name = net_.add_state();
    written == 0 ? net_.add_nothing(from, name) : values_.add_before_blank(from, ',', name);
    return name;
  }

  // An optional member may be left out: an edge that reads nothing leads to the next row in the same column.
  std::vector<StateId> add_member(const std::vector<StateId>& row, const ObjectMembers::Member& member) {
    std::vector<StateId> behind = new_row();
    for (int64_t written = 0; written <= last_; ++written) {
      const StateId from = row[static_cast<size_t>(written)];
      if (!member.is_required) net_.add_nothing(from, behind[static_cast<size_t>(written)]);
      if (!may_write(written)) continue;
      const StateId colon = net_.add_state(), value = net_.add_state();
      values_.strings().add_text(before_name(from, written), member.name, colon);
      values_.add_before_blank(colon, ':', value);
      net_.add_call(value, member.value, behind[static_cast<size_t>(next(written))]);
    }
    return behind;
  }

  // Other members have any names but those of the schema, however they are spelled.
  void add_others(const std::vector<StateId>& row) {
    std::vector<std::string> names;
    for (const ObjectMembers::Member& member : object_.members) names.push_back(member.name);
    const RuleId other_name = net_.add_rule("other name");
    values_.strings().add_other_than(net_.start(other_name), names, net_.end(other_name));
    for (int64_t written = 0; written <= last_; ++written) {
      if (!may_write(written)) continue;
      const StateId colon = net_.add_state(), value = net_.add_state();
      net_.add_call(before_name(row[static_cast<size_t>(written)], written), other_name, colon);
      values_.add_before_blank(colon, ':', value);
      net_.add_call(value, object_.other, row[static_cast<size_t>(next(written))]);
    }
  }

  JsonValues& values_;
  RuleNet& net_;
  const ObjectMembers& object_;
  const StateId to_;
  int64_t last_;
};

}  // namespace

void add_object(JsonValues& values, StateId from, const ObjectMembers& object, StateId to) {
  if (object.count.most >= 0 && object.count.most < object.count.least) return;
  if (object.other < 0 && object.count.least > static_cast<int64_t>(object.members.size())) return;
  ObjectGrid(values, object, to).add(from);
}

}  // namespace tandem::constraint
