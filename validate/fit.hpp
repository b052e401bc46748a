// Calibration: the maximum a posteriori point of the constants, in log space.
//
//   minimise  sum_i w_i rho(r_i) + 1/2 sum_j ((theta_j - log prior_j) / sd_j)^2
//   r_i = log(predicted_i / measured_i) / sqrt(0.04^2 + noise_i^2),   rho(r) = sqrt(1 + r^2) - 1   (pseudo-Huber)
//
// over the constants of levels A to D that have a prior spread, are not held and are used by at least one row. w caps
// what one leakage group (4 rows' worth) and one file (15 rows' worth) can say. Gauss-Newton with Levenberg's damping;
// the Jacobian is numerical (one-sided, 3 % steps) and sparse: a row is only run again for the constants that it used;
// it serves several steps while these still pay. A fold of a cross-validation starts at the full fit, solves on the
// linearised model without its held-out rows, corrects once with exact predictions, and predicts the held-out rows
// exactly.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "sim/device/constants.hpp"
#include "validate/cases.hpp"
#include "validate/linear.hpp"

namespace twin::validate {

struct FitRow {
  const Run* run = nullptr;  // rows with the same one are run once
  double measured_s = 0, noise = 0.03;
  std::string group, file;
};

struct FitOptions {
  int threads = 2;
  int iterations = 10;
  double tolerance = 1e-3;   // relative decrease of the objective that ends the search
  double difference = 0.03;  // of log(constant), for the Jacobian
  double group_cap = 4, file_cap = 15;
  std::function<void(const std::string&)> progress;  // one line each
};

struct FitResult {
  device::Constants constants;        // with the fitted values in force
  std::vector<int> active;            // indices of the fitted constants
  std::vector<double> theta;          // log values of them
  Matrix jacobian;                    // d log predicted / d theta at the fit; rows x active
  std::vector<double> log_predicted;  // NaN where the simulator refuses
  double objective = 0;
  int evaluations = 0;  // runs of single rows
};

std::vector<double> fit_weights(const std::vector<FitRow>& rows, const std::vector<char>& include,
                                const FitOptions& options);
FitResult fit(const std::vector<FitRow>& rows, const device::Constants& start, const FitOptions& options = {});

// Fold index per row: groups (or files) in the order of a hash of their names, dealt to `folds`; folds = 0: one fold
// each.
std::vector<int> make_folds(const std::vector<std::string>& labels, int folds);

// Predicted seconds of each row by constants fitted without its fold.
std::vector<double> cross_validate(const std::vector<FitRow>& rows, const FitResult& full, const std::vector<int>& fold,
                                   const FitOptions& options = {});

}  // namespace twin::validate
