// Text that remembers who wrote each stretch of it: the chat template, or the conversation.
//
// Contract: valid UTF-8. Places count bytes. Neighbouring stretches have different authors. Pure values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::chat {

// Special tokens are recognised in the template's own text alone.
enum class Author : bool { chat_template, conversation };

class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, Author author = Author::chat_template);

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  size_t footprint() const { return bytes_.size() + borders_.size() * sizeof(size_t); }

  void append(const Text& more);
  void append(std::string_view more, Author author);
  void reserve(size_t bytes) { bytes_.reserve(bytes); }
  Text slice(size_t begin, size_t end) const;
  Author author_at(size_t place) const;  // of an empty text: the template

  // Calls use(std::string_view, Author) for each stretch.
  template <typename Use>
  void each_stretch(const Use& use) const {
    Author author = first_;
    size_t begin = 0;
    for (size_t i = 0; i <= borders_.size() && begin < bytes_.size(); ++i) {
      const size_t end = i < borders_.size() ? borders_[i] : bytes_.size();
      use(std::string_view(bytes_).substr(begin, end - begin), author);
      begin = end;
      author = other(author);
    }
  }

 private:
  static Author other(Author author) { return static_cast<Author>(!static_cast<bool>(author)); }
  Author last() const { return borders_.size() % 2 == 0 ? first_ : other(first_); }

  std::string bytes_;
  Author first_ = Author::chat_template;
  std::vector<size_t> borders_;  // ascending places at which the author changes; none is 0 or the end
};

}  // namespace tandem::chat
