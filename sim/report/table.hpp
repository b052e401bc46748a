// Text tables and bars for the console. Widths count UTF-8 code points, so that bars of blocks line up.
//   Table t({"bytes", "time"}, "lr");  t.add({"8", "1.2 us"});  out << t.text();
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace twin::report {

class Table {
 public:
  // align: one of l, r per column; missing ones are r. An empty header row is left out.
  explicit Table(std::vector<std::string> header, std::string align = "");
  void add(std::vector<std::string> row);
  std::string text(std::string_view indent = "") const;  // columns two blanks apart, rule under the header
  std::size_t rows() const { return rows_.size(); }

 private:
  std::vector<std::string> header_;
  std::string align_;
  std::vector<std::vector<std::string>> rows_;
};

// `fraction` of `width` cells in eighths of a cell; clamped to 0..1.
std::string bar(double fraction, int width);
std::size_t display_width(std::string_view utf8);

}  // namespace twin::report
