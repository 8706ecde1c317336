// LAPACK's commonest routines for matrices of every size: tiny ones are done by hand, large ones
// are cut into pieces for our threads, for LAPACK runs on one. The pieces depend on sizes alone, so
// the number of threads changes no result.
#pragma once

#include "cpu/lapack.h"

namespace wisp::cpu::lapack {

// getrf.
template <class T>
Int factor_lu(Int m, Int n, T* a, Int lda, Int* pivots);
// getrs; columns of B on their own.
template <class T>
void solve_lu(char trans, Int n, Int nrhs, T* a, Int lda, Int* pivots, T* b, Int ldb);
// potrf of the lower triangle.
template <class T>
Int factor_cholesky(Int n, T* a, Int lda);
// geqrf; `work` serves matrices of one shape.
template <class T>
void factor_qr(Int m, Int n, T* a, Int lda, T* tau, Work& work);
// The first n columns of the product of k reflections, as orgqr makes them in place: q holds the
// reflections before.
template <class T>
void expand_qr(Int m, Int n, Int k, T* q, Int ldq, T* tau, Work& work);

}  // namespace wisp::cpu::lapack
