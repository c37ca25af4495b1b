// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "precond/triangular/solve.hpp"

namespace prekond::impl::triangular {
namespace {

using Host = Kokkos::DefaultHostExecutionSpace;

/// Vectors on the way between the device and the host's solve.
template <class Scalar>
using Pinned = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Kokkos::SharedHostPinnedSpace>;

template <class Scalar>
struct HostWorkspace : Workspace {
  Pinned<Scalar> x, y;
  std::unique_ptr<Workspace> inner;
};

template <class Scalar, class Space>
class HostSolve : public Solve<Scalar, Space> {
 public:
  HostSolve(const Space& space, const Factor<Scalar, Space>& factor, Storage storage, Report& report)
      : m_owner(factor.owner), m_solver(factor.owner, factor.which, host_options(storage)) {
    const Host host;
    const auto& graph = factor.graph;
    const CsrGraph<Host> pattern{graph.num_rows, graph.num_cols,
                                 on_host(space, "prekond::triangular::host_row_ptrs", graph.row_ptrs),
                                 on_host(space, "prekond::triangular::host_col_idxs", graph.col_idxs)};
    const auto values = on_host(space, "prekond::triangular::host_values", factor.values);
    const auto scale = on_host(space, "prekond::triangular::host_scale", factor.scale);
    m_solver.symbolic(host, pattern);
    Report own;  // the factor is checked already
    m_solver.numeric(host, values, scale, own);
    m_bytes = m_solver.bytes() + pattern.nnz() * std::int64_t(sizeof(int)) +
              (pattern.num_rows + 1) * std::int64_t(sizeof(std::size_t));
    report.notes.insert(report.notes.end(), own.notes.begin(), own.notes.end());
  }

  std::unique_ptr<Workspace> make_workspace(const Space&, int num_vectors) const override {
    auto result = std::make_unique<HostWorkspace<Scalar>>();
    const auto vectors = [&](const char* label) {
      return Pinned<Scalar>(Kokkos::view_alloc(std::string(label), Kokkos::WithoutInitializing),
                            m_solver.num_rows(), num_vectors);
    };
    result->x = vectors("prekond::triangular::host_x");
    result->y = vectors("prekond::triangular::host_y");
    result->inner = m_solver.make_workspace(Host(), num_vectors);
    return result;
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    auto* own = dynamic_cast<HostWorkspace<Scalar>*>(&workspace);
    if (!own) throw std::logic_error(m_owner + ": the workspace is another method's");
    const auto count = x.extent(1);
    const auto of_host = [&](const Pinned<Scalar>& vectors) {
      return columns_of<Scalar, Host>(
          MultiVectorView<Scalar, Host>(vectors.data(), vectors.extent(0), vectors.extent(1)), x.extent(0),
          count, m_owner);
    };
    const auto there = of_host(own->x), back = of_host(own->y);
    const Host host;
    // Column by column: a column is contiguous, whatever the stride between them.
    for (std::size_t v = 0; v < count; ++v)
      Kokkos::deep_copy(space, Kokkos::subview(there, Kokkos::ALL, v), Kokkos::subview(x, Kokkos::ALL, v));
    space.fence("prekond::triangular::apply::there");
    m_solver.apply(host, there, back, *own->inner);
    host.fence("prekond::triangular::apply::back");
    for (std::size_t v = 0; v < count; ++v)
      Kokkos::deep_copy(space, Kokkos::subview(y, Kokkos::ALL, v), Kokkos::subview(back, Kokkos::ALL, v));
  }

  std::int64_t bytes() const override { return m_bytes; }
  double flops() const override { return m_solver.flops(); }

 private:
  static TriangularOptions host_options(Storage storage) {
    TriangularOptions result;
    result.method = TriangularMethod::levels;
    result.storage = storage;
    return result;
  }
  template <class T>
  static Vector<T, Host> on_host(const Space& space, const char* label, const Vector<T, Space>& from) {
    const auto result = allocate<Vector<T, Host>>(Host(), label, from.extent(0));
    Kokkos::deep_copy(space, result, from);
    space.fence("prekond::triangular::on_host");
    return result;
  }

  std::string m_owner;
  TriangularSolver<Scalar, Host> m_solver;
  std::int64_t m_bytes = 0;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_host_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                            Storage storage, Report& report) {
  return std::make_shared<const HostSolve<Scalar, Space>>(space, factor, storage, report);
}

#define PREKOND_HOST_SOLVE(Scalar, Space)                              \
  template SolvePointer<Scalar, Space> make_host_solve<Scalar, Space>( \
      const Space&, const Factor<Scalar, Space>&, Storage, Report&);
PREKOND_INSTANTIATE(PREKOND_HOST_SOLVE)

}  // namespace prekond::impl::triangular
