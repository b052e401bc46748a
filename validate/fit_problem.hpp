// The objective of fit.hpp, its Jacobian and its Newton steps, for a fixed set of rows and active constants. Private to
// the fit.
#pragma once
#include <optional>
#include <vector>
#include "validate/fit.hpp"

namespace twin::validate {

class FitProblem {
 public:
  // active: the constants to fit; empty: found from what the rows use.
  FitProblem(const std::vector<FitRow>& rows, const device::Constants& start, const FitOptions& options,
             std::vector<int> active = {});
  const std::vector<int>& active() const { return active_; }
  std::vector<double> initial() const;
  device::Constants constants_at(const std::vector<double>& theta) const;
  // log predicted seconds of the included rows; NaN for the others and where the simulator refuses.
  std::vector<double> predict(const std::vector<double>& theta, const std::vector<char>& include);
  Matrix jacobian(const std::vector<double>& theta, const std::vector<double>& log_predicted);
  double objective(const std::vector<double>& theta, const std::vector<double>& log_predicted,
                   const std::vector<double>& weights) const;
  std::optional<std::vector<double>> newton_step(const std::vector<double>& theta,
                                                 const std::vector<double>& log_predicted, const Matrix& jacobian,
                                                 const std::vector<double>& weights, double damping) const;
  // The minimum of the objective with predictions linear in theta around `theta`.
  std::vector<double> solve_linear(const std::vector<double>& theta, const std::vector<double>& log_predicted,
                                   const Matrix& jacobian, const std::vector<double>& weights) const;
  int evaluations() const { return evaluations_; }

 private:
  double residual(std::size_t row, double log_predicted) const;
  const std::vector<FitRow>& rows_;
  device::Constants start_;
  FitOptions options_;
  std::vector<int> active_;
  std::vector<double> mean_, sd_;               // prior of log(constant)
  std::vector<std::vector<std::size_t>> used_;  // per row: positions in active_ that it depends on
  std::vector<std::size_t> first_;              // per row: the first row with the same run; only that one is run
  std::vector<double> scale_;                   // per row: sqrt(0.04^2 + noise^2)
  int evaluations_ = 0;
};

}  // namespace twin::validate
