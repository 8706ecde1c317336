// Bessel and Airy functions of one real number.
#pragma once

namespace wisp::cpu {

double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
// Times e^-|x|.
double scaled_bessel_i0(double x);
double scaled_bessel_i1(double x);
double bessel_k0(double x);
double bessel_k1(double x);
// Times e^x.
double scaled_bessel_k0(double x);
double scaled_bessel_k1(double x);
double spherical_bessel_j0(double x);
double airy_ai(double x);

}  // namespace wisp::cpu
