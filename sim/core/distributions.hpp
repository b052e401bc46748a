// Distributions over Philox, bit-stable on every machine (elementary.hpp); the standard library's are not.
// All but poisson() and below() invert the distribution function: one uniform a draw, monotone in it.
#pragma once
#include <cstdint>
#include "sim/core/philox.hpp"

namespace twin::core {

// Inverse of the standard normal distribution function, 0 < p < 1; relative error about 1e-15 (Wichura, AS 241, 1988).
double normal_quantile(double p);

double uniform(Philox& rng, double low, double high);
std::int64_t below(Philox& rng, std::int64_t n);  // 0..n-1, each as likely (Lemire 2019); n >= 1
double normal(Philox& rng, double mean, double deviation);
double lognormal(Philox& rng, double mu, double sigma);  // exp of a normal(mu, sigma); median exp(mu)
double exponential(Philox& rng, double mean);
double weibull(Philox& rng, double scale, double shape);  // scale (-log u)^(1/shape); shape 1 is exponential
std::int64_t poisson(Philox& rng, double mean);           // 0 <= mean <= 1e9; O(sqrt(mean)) steps

}  // namespace twin::core
