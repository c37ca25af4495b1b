// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/filter_entries.hpp>
#include <prekond/matrix/impl/counter_hash.hpp>
#include <prekond/precond/stored_matrix.hpp>

#include "instantiate.hpp"
#include "precond/triangular/solve.hpp"

#include <limits>

namespace prekond::impl::triangular {
namespace {

template <class Scalar, class Space>
using OwnMatrix = typename StoredMatrix<Scalar, Space>::matrix_type;

template <class Scalar, class Space>
struct IsOwnColumn {
  CsrView<Scalar, Space> n;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::size_t k) const { return n.col_idxs(k) < n.num_rows; }
};

/// Numbers in (-1, 1].
template <class Scalar, class Space>
struct FixedVector {
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    x(i, 0) = static_cast<Scalar>(2 * unit_interval(counter_hash(1, static_cast<std::uint64_t>(i))) - 1);
  }
};

/// max |x_i - y_i|; infinity where that is not finite.
template <class Scalar, class Space>
struct LargestChange {
  MultiVectorView<const Scalar, Space> x, y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& most) const {
    const auto change = static_cast<double>(Kokkos::abs(x(i, 0) - y(i, 0)));
    if (!is_finite(change))
      most = Kokkos::Experimental::infinity_v<double>;
    else if (change > most)
      most = change;
  }
};

template <class Scalar, class Space>
struct JacobiWorkspace : Workspace {
  MultiVector<Scalar, Space> source;  ///< S x; without rows where S = I
  MultiVector<Scalar, Space> other;   ///< takes turns with y
};

template <class Scalar, class Space>
class JacobiSolve : public Solve<Scalar, Space> {
 public:
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;

  JacobiSolve(const Space& space, const Factor<Scalar, Space>& factor, const TriangularOptions& options)
      : m_owner(factor.owner), m_scale(factor.scale), m_sweeps(options.sweeps) {
    OwnMatrix<Scalar, Space> n(factor.graph.num_rows, factor.graph.num_cols, factor.graph.row_ptrs,
                               factor.graph.col_idxs, factor.values);
    if (n.num_cols > n.num_rows) {
      const auto own = filter_entries<Scalar, Space>(space, n, IsOwnColumn<Scalar, Space>{n});
      n = OwnMatrix<Scalar, Space>(n.num_rows, n.num_rows, own.row_ptrs, own.col_idxs, own.values);
    }
    m_n = StoredMatrix<Scalar, Space>(space, n, {options.storage, MatrixFormat::automatic});
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    using Owned = MultiVector<Scalar, Space>;
    auto workspace = std::make_unique<JacobiWorkspace<Scalar, Space>>();
    workspace->source = allocate<Owned>(space, "prekond::triangular::apply::source",
                                        m_scale.extent(0) > 0 ? m_n.num_rows() : 0, num_vectors);
    workspace->other =
        allocate<Owned>(space, "prekond::triangular::apply::other", m_n.num_rows(), num_vectors);
    return workspace;
  }

  void apply(const Space& space, Const x, Vectors y, Workspace& workspace) const override {
    const auto& own = static_cast<const JacobiWorkspace<Scalar, Space>&>(workspace);
    sweep(space, x, y, own);
  }

  /// By the workspace's own vectors.
  Changes try_sweeps(const Space& space) const {
    using Owned = MultiVector<Scalar, Space>;
    const std::int64_t n = m_n.num_rows();
    const Owned x = allocate<Owned>(space, "prekond::triangular::numeric::x", n, 1);
    const Owned y = allocate<Owned>(space, "prekond::triangular::numeric::y", n, 1);
    const auto workspace = make_workspace(space, 1);
    Kokkos::parallel_for("prekond::triangular::numeric::fixed_vector", rows(space),
                         FixedVector<Scalar, Space>{x});
    Changes changes;
    sweep(space, x, y, static_cast<const JacobiWorkspace<Scalar, Space>&>(*workspace), &changes);
    return changes;
  }

  std::int64_t bytes() const override {
    return m_n.bytes() + static_cast<std::int64_t>(m_scale.span() * sizeof(Scalar));
  }
  double flops() const override {
    const auto n = static_cast<double>(m_n.num_rows());
    return m_sweeps * (2 * static_cast<double>(m_n.nnz()) + n) + (m_scale.extent(0) > 0 ? n : 0);
  }

 private:
  Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(const Space& space) const {
    return {space, 0, m_n.num_rows()};
  }

  double change(const Space& space, Const x, Const y) const {
    double most = 0;
    Kokkos::parallel_reduce("prekond::triangular::numeric::change", rows(space),
                            LargestChange<Scalar, Space>{x, y}, Kokkos::Max<double>(most));
    return most;
  }

  /// The last sweep writes y.
  void sweep(const Space& space, Const x, Vectors y, const JacobiWorkspace<Scalar, Space>& own,
             Changes* changes = nullptr) const {
    const std::size_t count = x.extent(1);
    const Vectors other = columns_of<Scalar, Space>(own.other, m_n.num_rows(), count, m_owner);
    Const source = x;
    if (m_scale.extent(0) > 0) {
      const Vectors to =
          m_sweeps == 0 ? y : columns_of<Scalar, Space>(own.source, m_n.num_rows(), count, m_owner);
      scale_vectors<Scalar, Space>(space, m_scale, x, to);
      source = to;
    } else if (m_sweeps == 0) {
      Kokkos::deep_copy(space, y, x);
    }
    Const from = source;
    for (int k = 1; k <= m_sweeps; ++k) {
      const Vectors to = (m_sweeps - k) % 2 == 0 ? y : other;
      m_n.multiply_recurrence(space, {.product = -1, .source = 1}, from, source, to);
      if (changes && k == 1) changes->first = change(space, from, to);
      if (changes && k == m_sweeps) changes->last = change(space, from, to);
      from = to;
    }
  }

  std::string m_owner;
  Vector<Scalar, Space> m_scale;
  int m_sweeps;
  StoredMatrix<Scalar, Space> m_n;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_jacobi_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                              const TriangularOptions& options, Changes& changes) {
  const auto result = std::make_shared<const JacobiSolve<Scalar, Space>>(space, factor, options);
  changes = result->try_sweeps(space);
  return result;
}

#define PREKOND_JACOBI_SOLVE(Scalar, Space)                              \
  template SolvePointer<Scalar, Space> make_jacobi_solve<Scalar, Space>( \
      const Space&, const Factor<Scalar, Space>&, const TriangularOptions&, Changes&);
PREKOND_INSTANTIATE(PREKOND_JACOBI_SOLVE)

}  // namespace prekond::impl::triangular
