// Dense linear algebra for the fit: a row-major matrix and the solution of a symmetric positive definite system by
// Cholesky's factorisation. About 100 unknowns; no library is worth its weight here.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace twin::validate {

struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> data;
  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), data(r * c, 0.0) {}
  double& at(std::size_t r, std::size_t c) { return data[r * columns + c]; }
  double at(std::size_t r, std::size_t c) const { return data[r * columns + c]; }
};

// x with A x = b, reading the lower triangle of A; nullopt when A is not positive definite.
std::optional<std::vector<double>> solve_spd(Matrix a, std::vector<double> b);

}  // namespace twin::validate
