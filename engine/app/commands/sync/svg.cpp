#include "engine/app/commands/sync/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "sync/error.h"

namespace tandem::app {
namespace {

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string attribute(const char* name, double value) { return std::string(" ") + name + "=\"" + digits(value) + "\""; }

std::string of_class(std::string_view css_class) { return " class=\"" + escape_markup(css_class) + "\""; }

const char* name_of(TextAnchor anchor) {
  return anchor == TextAnchor::start ? "start" : anchor == TextAnchor::middle ? "middle" : "end";
}

// Length in bytes of the valid UTF-8 sequence that begins here. 0: there is none, or XML does not allow the character.
// The first byte tells the length. 0x80 to 0xc1 and 0xf5 to 0xff begin no character.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? 1 : 0;
  const size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first >= 0xf5 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint32_t second = byte(1);
  // `overlong`: a shorter form exists. `beyond`: a surrogate, or above U+10FFFF. `no_character`: U+FFFE and U+FFFF,
  // which XML excludes.
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  const bool no_character = first == 0xef && second == 0xbf && byte(2) >= 0xbe;
  return overlong || beyond || no_character ? 0 : length;
}

}  // namespace

// Goes character by character. An invalid byte becomes U+FFFD and is skipped alone.
std::string escape_markup(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (text[0] == '&') {
      out += "&amp;";
    } else if (text[0] == '<') {
      out += "&lt;";
    } else if (text[0] == '>') {
      out += "&gt;";
    } else if (text[0] == '"') {
      out += "&quot;";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

// Values that are not positive or not finite do not count. Without any value the axis is 1 to 10. The ends are the
// powers of ten around the values. Equal ends would make the axis empty, so it has at least one decade.
LogAxis LogAxis::around(const std::vector<double>& values, double from, double to) {
  double low = 0, high = 0;
  for (const double value : values) {
    if (!(value > 0) || !std::isfinite(value)) continue;
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
  if (low == 0) low = high = 1;
  const double first = std::floor(std::log10(low)), last = std::max(std::ceil(std::log10(high)), first + 1);
  return {std::pow(10, first), std::pow(10, last), from, to};
}

// The first comparison also catches 0, negative values and NaN, whose logarithm would be no place on the axis.
double LogAxis::at(double value) const {
  if (!(value > low_)) return from_;
  const double share = std::log(std::min(value, high_) / low_) / std::log(high_ / low_);
  return from_ + share * (to_ - from_);
}

// The factor keeps the last decade, since repeated multiplication may end slightly above it.
std::vector<double> LogAxis::decades() const {
  std::vector<double> values;
  for (double value = low_; value < high_ * 1.001; value *= 10) values.push_back(value);
  return values;
}

// A drawing inside an HTML page needs no name space. A file of its own does, or viewers do not recognise it.
SvgDrawing::SvgDrawing(double width, double height, std::string_view title, std::string_view style) {
  const std::string alone = style.empty() ? "" : " xmlns=\"http://www.w3.org/2000/svg\"";
  content_ = "<svg" + alone + " viewBox=\"0 0 " + digits(width) + " " + digits(height) + "\" role=\"img\"><title>" +
             escape_markup(title) + "</title>\n" + std::string(style);
}

void SvgDrawing::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  content_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2) +
              of_class(css_class) + "/>\n";
}

void SvgDrawing::path(const std::vector<std::pair<double, double>>& points, std::string_view css_class) {
  content_ += "<polyline points=\"";
  for (const auto& [x, y] : points) content_ += digits(x) + "," + digits(y) + " ";
  content_ += "\"" + of_class(css_class) + "/>\n";
}

// A bar has at least one unit of width, so that a distribution without spread stays visible.
void SvgDrawing::bar(double x, double y, double width, double height, std::string_view css_class) {
  content_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", std::max(width, 1.0)) +
              attribute("height", height) + " rx=\"2\"" + of_class(css_class) + "/>\n";
}

void SvgDrawing::block(double x, double y, double width, double height, std::string_view css_class,
                       std::string_view tip) {
  content_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
              attribute("height", height) + of_class(css_class) + "><title>" + escape_markup(tip) + "</title></rect>\n";
}

void SvgDrawing::dot(double x, double y, double radius, std::string_view css_class, std::string_view tip) {
  content_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) + of_class(css_class) +
              "><title>" + escape_markup(tip) + "</title></circle>\n";
}

void SvgDrawing::text(double x, double y, std::string_view words, TextAnchor anchor, std::string_view css_class) {
  content_ += "<text" + attribute("x", x) + attribute("y", y) + " text-anchor=\"" + name_of(anchor) + "\"" +
              of_class(css_class) + ">" + escape_markup(words) + "</text>\n";
}

void SvgDrawing::turned_text(double x, double y, std::string_view words, std::string_view css_class) {
  content_ += "<text transform=\"translate(" + digits(x) + " " + digits(y) + ") rotate(-90)\" text-anchor=\"middle\"" +
              of_class(css_class) + ">" + escape_markup(words) + "</text>\n";
}

std::string SvgDrawing::finish() && { return std::move(content_) + "</svg>\n"; }

}  // namespace tandem::app
