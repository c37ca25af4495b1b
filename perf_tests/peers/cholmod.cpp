// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct.hpp"

#include <cholmod.h>

#include <stdexcept>

/// CHOLMOD on A x = A 1, SPD: peer_cholmod NAME:SIZE | FILE.mtx[.gz] prints {"factor_nnz",
/// "analysis_seconds", "factor_seconds", "solve_seconds", "residual"}. Its defaults: the best of its
/// orderings, supernodes where they pay.
namespace {

class Cholmod {
 public:
  explicit Cholmod(const prekond::peers::LowerTriangle& a) {
    cholmod_l_start(&m_common);
    m_common.print = 0;
    const std::size_t n = a.num_rows();
    m_a = cholmod_l_allocate_sparse(n, n, a.values.size(), 1, 1, 1, CHOLMOD_REAL, &m_common);
    if (m_a == nullptr) throw std::runtime_error("out of memory");
    std::copy(a.ptrs.begin(), a.ptrs.end(), static_cast<std::int64_t*>(m_a->p));
    std::copy(a.columns.begin(), a.columns.end(), static_cast<std::int64_t*>(m_a->i));
    std::copy(a.values.begin(), a.values.end(), static_cast<double*>(m_a->x));
  }
  Cholmod(const Cholmod&) = delete;
  Cholmod& operator=(const Cholmod&) = delete;
  ~Cholmod() {
    cholmod_l_free_factor(&m_factor, &m_common);
    cholmod_l_free_sparse(&m_a, &m_common);
    cholmod_l_finish(&m_common);
  }

  void analyze() {
    m_factor = cholmod_l_analyze(m_a, &m_common);
    check();
  }
  void factor() {
    cholmod_l_factorize(m_a, m_factor, &m_common);
    check();
  }
  std::vector<double> solve(const std::vector<double>& b) {
    cholmod_dense* right = cholmod_l_allocate_dense(b.size(), 1, b.size(), CHOLMOD_REAL, &m_common);
    std::copy(b.begin(), b.end(), static_cast<double*>(right->x));
    cholmod_dense* x = cholmod_l_solve(CHOLMOD_A, m_factor, right, &m_common);
    cholmod_l_free_dense(&right, &m_common);
    check();
    const auto* values = static_cast<const double*>(x->x);
    std::vector<double> result(values, values + b.size());
    cholmod_l_free_dense(&x, &m_common);
    return result;
  }
  /// Without the zeros that supernodes add.
  std::int64_t factor_entries() const { return static_cast<std::int64_t>(m_common.lnz); }

 private:
  void check() const {
    if (m_common.status == CHOLMOD_OK) return;
    throw std::runtime_error(m_common.status == CHOLMOD_OUT_OF_MEMORY ? "out of memory"
                             : m_common.status == CHOLMOD_NOT_POSDEF
                                 ? "not positive definite"
                                 : "status " + std::to_string(m_common.status));
  }

  cholmod_common m_common;
  cholmod_sparse* m_a = nullptr;
  cholmod_factor* m_factor = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return prekond::peers::run_direct<Cholmod>("cholmod", argc, argv);
}
