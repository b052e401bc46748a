// Registry of constants: lookup with fallback, reading and writing JSON, calibration files over the built-in values.
// Lookup order: the exact name; the name with its second part replaced by "*". Nothing else is guessed.
#include "sim/device/constants.hpp"
#include <fmt/format.h>
#include <cmath>
#include "sim/core/check.hpp"
#include "sim/core/embedded.hpp"
#include "sim/core/json_reader.hpp"
#include "sim/device/kernel_table.hpp"

namespace twin::device {

namespace {

constexpr double kMaxValue = 1e18;

// "gemm.h100-sxm.bf16" -> "gemm.*.bf16", "fusion.mine" -> "fusion.*"; "" if there is only one part.
std::string fallback_name(std::string_view name) {
  const auto first = name.find('.');
  if (first == std::string_view::npos) return {};
  const auto second = name.find('.', first + 1);
  std::string out(name.substr(0, first));
  out += ".*";
  if (second != std::string_view::npos) out += name.substr(second);
  return out;
}

core::Result<Constant> read_constant(core::JsonReader& r) {
  Constant c;
  std::string level;
  r.required("name", c.name)
      .required("prior", c.prior, 0, kMaxValue)
      .required("level", level)
      .required("source", c.source);
  c.value = c.prior;
  r.optional("value", c.value, 0, kMaxValue)
      .optional("sd", c.sd, 0, 10)
      .optional("unit", c.unit)
      .optional("held", c.held);
  if (level.size() != 1 || level[0] < 'A' || level[0] > 'E')
    r.fail("level", "expected one of A, B, C, D, E, found \"" + level + "\"");
  else
    c.level = level[0];
  if (c.sd > 0 && c.prior <= 0)
    r.fail("prior", "expected a number above 0 for a constant with a spread of its logarithm");
  if (c.value < 0 || (c.sd > 0 && c.value <= 0)) r.fail("value", "expected a number above 0");
  if (auto e = r.finish(); !e) return e.error();
  return c;
}

}  // namespace

core::Result<Constants> Constants::parse(std::string_view json_text, const std::string& file) {
  auto root = core::parse_json(json_text, file);
  if (!root) return root.error();
  core::JsonReader r(*root, file);
  Constants out;
  auto entries = r.objects("constants");
  for (auto& entry : entries) {
    auto c = read_constant(entry);
    if (!c) return c.error();
    if (out.by_name_.contains(c->name))
      return core::Error{.code = core::ErrorCode::kInconsistent,
                         .where = entry.where(),
                         .message = "constant \"" + c->name + "\" is defined twice"};
    out.by_name_[c->name] = static_cast<int>(out.all_.size());
    out.all_.push_back(*std::move(c));
  }
  if (auto e = r.finish(); !e) return e.error();
  return out;
}

core::Result<void> Constants::merge(const Constants& other, const std::string& file) {
  for (const Constant& c : other.all_) {
    if (by_name_.contains(c.name))
      return core::Error{.code = core::ErrorCode::kInconsistent,
                         .where = file,
                         .message = "constant \"" + c.name + "\" is defined in another file already"};
    by_name_[c.name] = static_cast<int>(all_.size());
    all_.push_back(c);
  }
  return {};
}

core::Result<void> Constants::apply_calibration(std::string_view json_text, const std::string& file) {
  auto root = core::parse_json(json_text, file);
  if (!root) return root.error();
  if (!root->is_object())
    return core::Error{.code = core::ErrorCode::kType, .where = file, .message = "expected an object with \"values\""};
  if (!root->contains("values") && !root->contains("tables"))
    return core::Error{.code = core::ErrorCode::kType,
                       .where = file,
                       .message = "expected \"values\" or \"tables\", found neither",
                       .hint = "`traintwin validate --write-calibration OUT` writes such a file"};
  std::vector<std::string> names;
  for (const Constant& c : all_) names.push_back(c.name);
  for (const auto& [key, content] : root->items()) {
    if (key != "values") continue;
    if (!content.is_object())
      return core::Error{
          .code = core::ErrorCode::kType, .where = file + ": values", .message = "expected an object {name: value}"};
    for (const auto& [name, value] : content.items()) {
      const auto it = by_name_.find(name);
      const std::string where = file + ": values." + name;
      if (it == by_name_.end()) {
        const std::string near = core::nearest(name, names);
        return core::Error{.code = core::ErrorCode::kNotFound,
                           .where = where,
                           .message = "no such constant",
                           .hint = near.empty() ? "`traintwin catalog constants` lists them" : "nearest: " + near};
      }
      const bool fitted = all_[static_cast<std::size_t>(it->second)].sd > 0;
      if (!value.is_number() || value.get<double>() > kMaxValue || value.get<double>() < 0 ||
          (fitted && value.get<double>() <= 0))
        return core::Error{.code = core::ErrorCode::kRange,
                           .where = where,
                           .message = "expected a number above 0, found " + value.dump()};
      set(it->second, value.get<double>());
    }
  }
  if (root->contains("tables")) {
    auto table = KernelTable::parse((*root)["tables"], file + ": tables");
    if (!table) return table.error();
    table_ = std::make_shared<const KernelTable>(*std::move(table));
  }
  return {};
}

const Constants& Constants::builtin() {
  static const Constants constants = [] {
    Constants all;
    for (const char* path : {"sim/device/constants.json", "sim/fabric/constants.json"}) {
      const auto text = core::embedded(path);
      if (text.empty()) continue;
      auto part = parse(text, path);
      if (!part) core::check_failed(part.error().text().c_str(), __FILE__, __LINE__);
      if (auto e = all.merge(*part, path); !e) core::check_failed(e.error().text().c_str(), __FILE__, __LINE__);
    }
    if (const auto text = core::embedded("validate/calibration.json"); !text.empty())
      if (auto e = all.apply_calibration(text, "validate/calibration.json"); !e)
        core::check_failed(e.error().text().c_str(), __FILE__, __LINE__);
    return all;
  }();
  return constants;
}

core::Result<Constants> load_calibration(const std::string& path) {
  auto text = core::read_file(path);
  if (!text) return text.error();
  Constants constants = Constants::builtin();
  if (auto e = constants.apply_calibration(*text, path); !e) return e.error();
  return constants;
}

int Constants::index(std::string_view name) const {
  auto it = by_name_.find(name);
  if (it == by_name_.end()) it = by_name_.find(fallback_name(name));
  return it == by_name_.end() ? -1 : it->second;
}

double Constants::get(std::string_view name) const {
  const int i = index(name);
  if (i < 0) core::check_failed(("constant \"" + std::string(name) + "\" is defined").c_str(), __FILE__, __LINE__);
  const auto at = static_cast<std::size_t>(i);
  if (!used_.empty()) used_[at] = 1;
  return all_[at].value;
}

void Constants::set(int index, double value) {
  TWIN_CHECK(index >= 0 && static_cast<std::size_t>(index) < all_.size());
  TWIN_CHECK(std::isfinite(value) && value >= 0);
  all_[static_cast<std::size_t>(index)].value = value;
}

std::vector<int> Constants::used() const {
  std::vector<int> out;
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (used_[i]) out.push_back(static_cast<int>(i));
  return out;
}

std::string Constants::to_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Constant& c : all_)
    list.push_back({{"name", c.name},
                    {"prior", c.prior},
                    {"value", c.value},
                    {"sd", c.sd},
                    {"held", c.held},
                    {"level", std::string(1, c.level)},
                    {"unit", c.unit},
                    {"source", c.source}});
  return nlohmann::json{{"constants", list}}.dump(1);
}

}  // namespace twin::device
