#include "validate/fit.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include "validate/fit_problem.hpp"
#include "validate/parallel.hpp"

namespace twin::validate {
namespace {

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t h = 14695981039346656037ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

void report(const FitOptions& options, const std::string& line) {
  if (options.progress) options.progress(line);
}

// One damped step with the Jacobian at hand; false when no damping tried makes the objective smaller.
bool take_step(FitProblem& problem, const std::vector<double>& weights, double& damping, FitResult& at) {
  const std::vector<char> all(at.log_predicted.size(), 1);
  for (int attempt = 0; attempt < 5; ++attempt, damping *= 8) {
    const auto step = problem.newton_step(at.theta, at.log_predicted, at.jacobian, weights, damping);
    if (!step) continue;
    std::vector<double> theta = at.theta;
    for (std::size_t j = 0; j < theta.size(); ++j) theta[j] += std::clamp((*step)[j], -0.5, 0.5);
    std::vector<double> predicted = problem.predict(theta, all);
    const double objective = problem.objective(theta, predicted, weights);
    if (!(objective < at.objective)) continue;
    at.theta = std::move(theta), at.log_predicted = std::move(predicted), at.objective = objective;
    damping = std::max(damping / 30, 1e-6);
    return true;
  }
  return false;
}

}  // namespace

std::vector<double> fit_weights(const std::vector<FitRow>& rows, const std::vector<char>& include,
                                const FitOptions& options) {
  std::map<std::string, double> groups, files;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (include[i]) groups[rows[i].file + "\n" + rows[i].group] += 1;
  std::vector<double> w(rows.size(), 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!include[i]) continue;
    w[i] = std::min(1.0, options.group_cap / groups[rows[i].file + "\n" + rows[i].group]);
    files[rows[i].file] += w[i];
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (include[i]) w[i] *= std::min(1.0, options.file_cap / files[rows[i].file]);
  return w;
}

FitResult fit(const std::vector<FitRow>& rows, const device::Constants& start, const FitOptions& options) {
  FitProblem problem(rows, start, options);
  FitResult out;
  out.active = problem.active();
  out.theta = problem.initial();
  const std::vector<char> all(rows.size(), 1);
  const std::vector<double> weights = fit_weights(rows, all, options);
  out.log_predicted = problem.predict(out.theta, all);
  out.objective = problem.objective(out.theta, out.log_predicted, weights);
  report(options,
         fmt::format("{} rows, {} constants; objective {:.2f}", rows.size(), out.active.size(), out.objective));
  double damping = 1e-3;
  for (int iteration = 1; iteration <= options.iterations; ++iteration) {
    out.jacobian = problem.jacobian(out.theta, out.log_predicted);
    const double before = out.objective;
    for (int chord = 0; chord < 4; ++chord) {
      const double start_of_step = out.objective;
      if (!take_step(problem, weights, damping, out)) break;
      if (start_of_step - out.objective < 10 * options.tolerance * out.objective) break;
    }
    report(options,
           fmt::format("iteration {}: objective {:.3f}, {} runs", iteration, out.objective, problem.evaluations()));
    if (before - out.objective < options.tolerance * out.objective) break;
  }
  out.jacobian = problem.jacobian(out.theta, out.log_predicted);
  out.constants = problem.constants_at(out.theta);
  out.evaluations = problem.evaluations();
  return out;
}

std::vector<int> make_folds(const std::vector<std::string>& labels, int folds) {
  std::vector<std::string> names = labels;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    const auto x = fnv1a(a), y = fnv1a(b);
    return x != y ? x < y : a < b;
  });
  std::map<std::string, int> fold;
  for (std::size_t i = 0; i < names.size(); ++i)
    fold[names[i]] = folds > 0 ? static_cast<int>(i) % folds : static_cast<int>(i);
  std::vector<int> out;
  for (const std::string& label : labels) out.push_back(fold[label]);
  return out;
}

std::vector<double> cross_validate(const std::vector<FitRow>& rows, const FitResult& full, const std::vector<int>& fold,
                                   const FitOptions& options) {
  FitProblem problem(rows, full.constants, options, full.active);
  std::vector<double> out(rows.size(), std::numeric_limits<double>::quiet_NaN());
  const int folds = fold.empty() ? 0 : *std::max_element(fold.begin(), fold.end()) + 1;
  for (int k = 0; k < folds; ++k) {
    std::vector<char> train(rows.size()), held(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      train[i] = fold[i] != k;
      held[i] = !train[i];
    }
    const std::vector<double> weights = fit_weights(rows, train, options);
    std::vector<double> theta = full.theta, predicted = full.log_predicted;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass > 0) predicted = problem.predict(theta, train);
      theta = problem.solve_linear(theta, predicted, full.jacobian, weights);
    }
    const std::vector<double> unseen = problem.predict(theta, held);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (held[i]) out[i] = std::exp(unseen[i]);
    report(options, fmt::format("fold {} of {}", k + 1, folds));
  }
  return out;
}

}  // namespace twin::validate
