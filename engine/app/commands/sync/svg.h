// The few shapes of SVG that the reports draw, and a logarithmic axis for them.
//
// Contract: pure; everything is text. Colours and fonts are classes of the page's own style sheet, so a page may be
// light or dark. Coordinates are user units, y downwards.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem::app {

// Escapes text for element content and attribute values of XML and HTML. Bytes that may not stand there become U+FFFD.
std::string escape_markup(std::string_view text);

// Maps [low, high] (0 < low < high) to [from, to]; every decade has the same length. Values outside map to
// the nearer end.
class LogAxis {
 public:
  // An axis of whole decades around the values above 0; at least one decade.
  static LogAxis around(const std::vector<double>& values, double from, double to);

  double at(double value) const;
  std::vector<double> decades() const;  // both ends included
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  LogAxis(double low, double high, double from, double to) : low_(low), high_(high), from_(from), to_(to) {}
  double low_, high_, from_, to_;
};

enum class TextAnchor { start, middle, end };

class SvgDrawing {
 public:
  // title: read by screen readers. With a style (a <style> element) the drawing is a stand-alone file; without one it
  // is part of a page.
  SvgDrawing(double width, double height, std::string_view title, std::string_view style = "");

  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  void path(const std::vector<std::pair<double, double>>& points, std::string_view css_class);
  void bar(double x, double y, double width, double height, std::string_view css_class);
  // A rectangle of exactly this size. tip: shown when a pointer rests on it.
  void block(double x, double y, double width, double height, std::string_view css_class, std::string_view tip);
  // A dot. tip: shown when a pointer rests on it.
  void dot(double x, double y, double radius, std::string_view css_class, std::string_view tip);
  void text(double x, double y, std::string_view words, TextAnchor anchor, std::string_view css_class);
  void turned_text(double x, double y, std::string_view words, std::string_view css_class);  // centred, reading upwards

  std::string finish() &&;

 private:
  std::string content_;
};

}  // namespace tandem::app
