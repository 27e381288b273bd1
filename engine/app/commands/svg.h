// The few shapes of SVG that the reports draw, and a logarithmic axis for them.
//
// Contract: pure; everything is text. Colours and fonts are classes of the page's own style sheet, so that a page may
// be light or dark. Coordinates are user units, y downwards.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::app {

// For element content and attribute values of XML and HTML; bytes that may not stand there become U+FFFD.
std::string escape_markup(std::string_view text);

// Maps [low, high] (0 < low < high) to [from, to], a decade being equally long everywhere; what lies outside is put to
// the nearer end.
class LogAxis {
 public:
  // Whole decades around the values that are above 0; at least one.
  static LogAxis around(const std::vector<double>& values, double from, double to);

  double at(double value) const;
  std::vector<double> decades() const;  // with both ends
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  LogAxis(double low, double high, double from, double to) : low_(low), high_(high), from_(from), to_(to) {}
  double low_, high_, from_, to_;
};

enum class TextAnchor { start, middle, end };

class SvgDrawing {
 public:
  // title: what a screen reader says. A drawing without a style is a part of a page; with one, a <style> element, it is
  // a file that stands alone.
  SvgDrawing(double width, double height, std::string_view title, std::string_view style = "");

  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  void path(const std::vector<std::pair<double, double>>& points, std::string_view css_class);
  void bar(double x, double y, double width, double height, std::string_view css_class);
  // A rectangle of exactly this size, with what a pointer resting on it is told.
  void block(double x, double y, double width, double height, std::string_view css_class, std::string_view tip);
  // A dot with what a pointer resting on it is told.
  void dot(double x, double y, double radius, std::string_view css_class, std::string_view tip);
  void text(double x, double y, std::string_view words, TextAnchor anchor, std::string_view css_class);
  void turned_text(double x, double y, std::string_view words, std::string_view css_class);  // reads upwards, centred

  std::string finish() &&;

 private:
  std::string content_;
};

}  // namespace tandem::app
