// Reads the cases of a file {"cases": [...]}: objects of numbers, lists and words.
//
// Contract: every failure is an Error that names the file, the case (from 0 on) and the key. A key that no call asked
// for is an Error of require_all_read(), and a key that an object has twice is one of read_cases(). Threads: one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace tandem::app {

class CaseReader {
 public:
  // where: the file and the case, for errors. The object must outlive the reader.
  CaseReader(const nlohmann::json& object, std::string where);

  bool has(const char* key);  // counts as asked for
  int64_t whole(const char* key, int64_t least, int64_t most);
  int64_t whole_or(const char* key, int64_t least, int64_t most, int64_t absent);
  std::string word(const char* key);
  std::vector<int32_t> ids(const char* key);  // token ids: 0 to 2^31 - 1
  std::vector<std::vector<int32_t>> id_lists(const char* key);
  std::vector<int64_t> wholes(const char* key, int64_t least);
  std::vector<double> numbers(const char* key, double least, double most);
  std::vector<CaseReader> objects(const char* key);  // of a list of objects
  // The length of a list of ids, or a whole number up to `most` that stands for it.
  int64_t count(const char* key, int64_t most);

  void require_all_read() const;
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const;

 private:
  const nlohmann::json& value(const char* key);
  const nlohmann::json& list(const char* key);
  std::vector<int32_t> ids_of(const nlohmann::json& list, const char* key, const char* expected) const;
  const nlohmann::json& object_;
  const std::string where_;
  std::set<std::string> asked_;
};

// The cases of a file. `use` reads one and returns its result; the answer is {"results": [...]}, in the same order.
template <typename Use>
nlohmann::json results_of(const nlohmann::json& cases, const std::string& path, const Use& use) {
  nlohmann::json results = nlohmann::json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    CaseReader reader(cases[i], path + ": case " + std::to_string(i));
    results.push_back(use(reader));
    reader.require_all_read();
  }
  return {{"results", std::move(results)}};
}

// The list of cases of a file, or of standard input ("-").
nlohmann::json read_cases(const std::string& path);

}  // namespace tandem::app
