// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/report.hpp>
#include <prekond/core/workspace.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/level_schedule.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>
#include <string>

namespace prekond {

/// How a system with a triangular factor is solved.
enum class TriangularMethod { automatic, levels, sync_free, jacobi, isai };

inline std::vector<std::pair<std::string, TriangularMethod>> triangular_methods() {
  return {{"auto", TriangularMethod::automatic},
          {"levels", TriangularMethod::levels},
          {"sync_free", TriangularMethod::sync_free},
          {"jacobi", TriangularMethod::jacobi},
          {"isai", TriangularMethod::isai}};
}

struct TriangularOptions {
  TriangularMethod method = TriangularMethod::automatic;
  int sweeps = 3;
  int isai_power = 1;
  Storage storage = Storage::full;
  std::int64_t max_polls = std::int64_t(1) << 24;
};

/// y = (I + N)^-1 S x, one row after another: a stand-in.
template <class Scalar, class Space>
class TriangularSolver {
 public:
  TriangularSolver(const std::string&, Triangle which, const TriangularOptions&) : m_which(which) {}
  void symbolic(const Space&, const CsrGraph<Space>& n) { m_graph = n; }
  void numeric(const Space&, const Vector<Scalar, Space>& values, const Vector<Scalar, Space>& scale,
               Report&) {
    m_values = values;
    m_scale = scale;
  }
  std::unique_ptr<Workspace> make_workspace(const Space&, int) const { return std::make_unique<Workspace>(); }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace&) const {
    Kokkos::parallel_for("prekond::triangular::stand_in", Kokkos::RangePolicy<Space>(space, 0, 1),
                         Solve{m_which == Triangle::lower, m_graph, m_values, m_scale, x, y});
  }
  std::int64_t num_rows() const { return m_graph.num_rows; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(m_values.span() * sizeof(Scalar)); }
  double flops() const { return 2.0 * double(m_graph.nnz()); }
  TriangularMethod method() const { return TriangularMethod::levels; }
  std::string description() const { return "stand-in"; }

  struct Solve {
    bool forward;
    CsrGraphView<Space> n;
    VectorView<const Scalar, Space> values, scale;
    MultiVectorView<const Scalar, Space> x;
    MultiVectorView<Scalar, Space> y;
    KOKKOS_FUNCTION void operator()(int) const {
      for (std::size_t v = 0; v < x.extent(1); ++v)
        for (std::int64_t r = 0; r < n.num_rows; ++r) {
          const std::int64_t i = forward ? r : n.num_rows - 1 - r;
          Scalar sum = scale.extent(0) > 0 ? scale(i) * x(i, v) : x(i, v);
          for (std::size_t k = n.row_ptrs(i); k < n.row_ptrs(i + 1); ++k)
            sum -= values(k) * y(n.col_idxs(k), v);
          y(i, v) = sum;
        }
    }
  };

 private:
  Triangle m_which;
  CsrGraph<Space> m_graph;
  Vector<Scalar, Space> m_values, m_scale;
};

}  // namespace prekond
