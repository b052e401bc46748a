// Errors that others reach on the same rows: public simulators (published/peers.json) and the closed-form prototype
// (published/prototype.json). Keyed by file and row id.
#pragma once
#include <array>
#include <map>
#include <string>

namespace twin::validate {

using RowKey = std::pair<std::string, std::string>;  // file, id

struct Facts {
  std::map<RowKey, std::map<std::string, double>> peers;  // peer -> error
  std::map<RowKey, std::array<double, 3>> prototype;      // in-sample, leave-group-out, leave-file-out
};

const Facts& facts();  // the embedded ones

}  // namespace twin::validate
