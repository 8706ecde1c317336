// The incomplete gamma functions, and how samples of a gamma distribution follow its shape.
#pragma once

namespace wisp::cpu {

// P(a, x), the probability that a gamma-distributed number of shape a is below x; Q is 1 - P.
// `single`: no more digits are wanted than a float has.
double gamma_p(double a, double x, bool single = false);
double gamma_q(double a, double x, bool single = false);

// dx/da along which P(a, x) stays the same: the derivative of a sample by its shape.
double gamma_sample_slope(double a, double x);

}  // namespace wisp::cpu
