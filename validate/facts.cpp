#include "validate/facts.hpp"
#include <nlohmann/json.hpp>
#include "sim/core/embedded.hpp"

namespace twin::validate {
namespace {

Facts read() {
  Facts out;
  const auto peers = nlohmann::json::parse(core::embedded("validate/published/peers.json"));
  for (const auto& [file, rows] : peers.at("errors").items())
    for (const auto& [id, errors] : rows.items())
      for (const auto& [peer, error] : errors.items()) out.peers[{file, id}][peer] = error.get<double>();
  const auto prototype = nlohmann::json::parse(core::embedded("validate/published/prototype.json"));
  for (const auto& [file, rows] : prototype.at("errors").items())
    for (const auto& [id, errors] : rows.items()) out.prototype[{file, id}] = errors.get<std::array<double, 3>>();
  return out;
}

}  // namespace

const Facts& facts() {
  static const Facts all = read();
  return all;
}

}  // namespace twin::validate
