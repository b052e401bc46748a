// Text tables and bars; see the header.
#include "sim/report/table.hpp"
#include <algorithm>
#include <cmath>
#include <utility>

namespace twin::report {
namespace {

bool empty_row(const std::vector<std::string>& row) {
  return std::all_of(row.begin(), row.end(), [](const std::string& cell) { return cell.empty(); });
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Table::Table(std::vector<std::string> header, std::string align)
    : header_(std::move(header)), align_(std::move(align)) {
  align_.resize(header_.size(), 'r');
}

void Table::add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(std::move(row));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> width(header_.size());
  const auto widen = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], display_width(row[i]));
  };
  widen(header_);
  std::for_each(rows_.begin(), rows_.end(), widen);
  std::string out;
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(width[i] - display_width(row[i]), ' ');
      text += (i ? "  " : "") + (align_[i] == 'l' ? row[i] + pad : pad + row[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  if (!empty_row(header_)) {
    line(header_);
    std::vector<std::string> rule;
    for (const std::size_t w : width) rule.emplace_back(w, '-');
    line(rule);
  }
  std::for_each(rows_.begin(), rows_.end(), line);
  return out;
}

std::string bar(double fraction, int width) {
  static constexpr const char* kEighth[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
  if (!std::isfinite(fraction) || width <= 0) return {};
  const int eighths = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "\u2588";
  return out + kEighth[eighths % 8];
}

}  // namespace twin::report
