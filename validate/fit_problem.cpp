#include "validate/fit_problem.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include "validate/parallel.hpp"

namespace twin::validate {
namespace {

constexpr double kModelScale = 0.04;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool can_fit(const device::Constant& c) { return c.sd > 0 && !c.held && c.level != 'E'; }

double log_seconds(const Run& run, const device::Constants& constants) {
  const auto result = run(constants);
  return result && result->step_time_s > 0 ? std::log(result->step_time_s) : kNaN;
}

}  // namespace

FitProblem::FitProblem(const std::vector<FitRow>& rows, const device::Constants& start, const FitOptions& options,
                       std::vector<int> active)
    : rows_(rows), start_(start), options_(options), active_(std::move(active)), used_(rows.size()) {
  std::map<const Run*, std::size_t> first;
  for (std::size_t i = 0; i < rows.size(); ++i) first_.push_back(first.try_emplace(rows[i].run, i).first->second);
  std::vector<std::vector<int>> touched(rows.size());
  std::vector<device::Constants> own(static_cast<std::size_t>(std::max(1, options.threads)), start);
  parallel_for(rows.size(), options.threads, [&](std::size_t i, int thread) {
    if (first_[i] != i) return;
    device::Constants& constants = own[static_cast<std::size_t>(thread)];
    constants.start_tracking();
    log_seconds(*rows[i].run, constants);
    touched[i] = constants.used();
  });
  for (std::size_t i = 0; i < rows.size(); ++i) touched[i] = touched[first_[i]];
  evaluations_ += static_cast<int>(first.size());
  if (active_.empty()) {
    std::set<int> found;
    for (const auto& list : touched)
      for (const int index : list)
        if (can_fit(start.all()[static_cast<std::size_t>(index)])) found.insert(index);
    active_.assign(found.begin(), found.end());
  }
  for (const int index : active_) {
    const device::Constant& c = start.all()[static_cast<std::size_t>(index)];
    mean_.push_back(std::log(c.prior));
    sd_.push_back(c.sd);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < active_.size(); ++j)
      if (std::find(touched[i].begin(), touched[i].end(), active_[j]) != touched[i].end()) used_[i].push_back(j);
    scale_.push_back(std::hypot(kModelScale, rows[i].noise));
  }
}

std::vector<double> FitProblem::initial() const {
  std::vector<double> theta;
  for (const int index : active_) theta.push_back(std::log(start_.all()[static_cast<std::size_t>(index)].value));
  return theta;
}

device::Constants FitProblem::constants_at(const std::vector<double>& theta) const {
  device::Constants out = start_;
  for (std::size_t j = 0; j < active_.size(); ++j) out.set(active_[j], std::exp(theta[j]));
  return out;
}

std::vector<double> FitProblem::predict(const std::vector<double>& theta, const std::vector<char>& include) {
  std::vector<double> out(rows_.size(), kNaN);
  const std::vector<device::Constants> own(static_cast<std::size_t>(std::max(1, options_.threads)),
                                           constants_at(theta));
  std::vector<char> needed(rows_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (include[i]) needed[first_[i]] = 1;
  std::vector<double> found(rows_.size(), kNaN);
  parallel_for(rows_.size(), options_.threads, [&](std::size_t i, int thread) {
    if (needed[i]) found[i] = log_seconds(*rows_[i].run, own[static_cast<std::size_t>(thread)]);
  });
  evaluations_ += static_cast<int>(std::count(needed.begin(), needed.end(), 1));
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (include[i]) out[i] = found[first_[i]];
  return out;
}

Matrix FitProblem::jacobian(const std::vector<double>& theta, const std::vector<double>& log_predicted) {
  Matrix out(rows_.size(), active_.size());
  std::vector<device::Constants> own(static_cast<std::size_t>(std::max(1, options_.threads)), constants_at(theta));
  std::vector<int> runs(own.size(), 0);
  parallel_for(rows_.size(), options_.threads, [&](std::size_t i, int thread) {
    if (first_[i] != i || std::isnan(log_predicted[i])) return;
    device::Constants& constants = own[static_cast<std::size_t>(thread)];
    for (const std::size_t j : used_[i]) {
      constants.set(active_[j], std::exp(theta[j] + options_.difference));
      const double moved = log_seconds(*rows_[i].run, constants);
      constants.set(active_[j], std::exp(theta[j]));
      if (!std::isnan(moved)) out.at(i, j) = (moved - log_predicted[i]) / options_.difference;
      ++runs[static_cast<std::size_t>(thread)];
    }
  });
  for (const int n : runs) evaluations_ += n;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (const std::size_t j : used_[i]) out.at(i, j) = out.at(first_[i], j);
  return out;
}

double FitProblem::residual(std::size_t row, double log_predicted) const {
  return (log_predicted - std::log(rows_[row].measured_s)) / scale_[row];
}

double FitProblem::objective(const std::vector<double>& theta, const std::vector<double>& log_predicted,
                             const std::vector<double>& weights) const {
  double sum = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (weights[i] <= 0 || std::isnan(log_predicted[i])) continue;
    const double r = residual(i, log_predicted[i]);
    sum += weights[i] * (std::sqrt(1 + r * r) - 1);
  }
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const double z = (theta[j] - mean_[j]) / sd_[j];
    sum += 0.5 * z * z;
  }
  return sum;
}

std::optional<std::vector<double>> FitProblem::newton_step(const std::vector<double>& theta,
                                                           const std::vector<double>& log_predicted,
                                                           const Matrix& jacobian, const std::vector<double>& weights,
                                                           double damping) const {
  const std::size_t n = active_.size();
  Matrix a(n, n);
  std::vector<double> b(n, 0.0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (weights[i] <= 0 || std::isnan(log_predicted[i])) continue;
    const double r = residual(i, log_predicted[i]);
    const double w = weights[i] / std::sqrt(1 + r * r);
    for (const std::size_t j : used_[i]) {
      const double gj = jacobian.at(i, j) / scale_[i];
      b[j] -= w * r * gj;
      for (const std::size_t k : used_[i])
        if (k <= j) a.at(j, k) += w * gj * jacobian.at(i, k) / scale_[i];
    }
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double precision = 1 / (sd_[j] * sd_[j]);
    b[j] -= (theta[j] - mean_[j]) * precision;
    a.at(j, j) += precision;
    a.at(j, j) *= 1 + damping;
  }
  return solve_spd(std::move(a), std::move(b));
}

std::vector<double> FitProblem::solve_linear(const std::vector<double>& theta, const std::vector<double>& log_predicted,
                                             const Matrix& jacobian, const std::vector<double>& weights) const {
  std::vector<double> at = theta, predicted = log_predicted;
  double best = objective(at, predicted, weights), damping = 1e-6;
  for (int iteration = 0; iteration < 60; ++iteration) {
    const auto step = newton_step(at, predicted, jacobian, weights, damping);
    if (!step) break;
    std::vector<double> next = at, moved = predicted;
    for (std::size_t j = 0; j < next.size(); ++j) next[j] += (*step)[j];
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (const std::size_t j : used_[i]) moved[i] += jacobian.at(i, j) * (*step)[j];
    const double value = objective(next, moved, weights);
    if (!(value < best)) {
      damping = std::max(damping * 10, 1e-3);
      if (damping > 1e6) break;
      continue;
    }
    const bool settled = best - value < 1e-9 * best;
    at = next, predicted = moved, best = value;
    damping = std::max(damping / 10, 1e-6);
    if (settled) break;
  }
  return at;
}

}  // namespace twin::validate
