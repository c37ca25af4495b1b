// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "precond/triangular/solve.hpp"

#include <algorithm>

namespace prekond::impl::triangular {
namespace {

template <class Scalar, class Space>
using OwnMatrix = typename StoredMatrix<Scalar, Space>::matrix_type;

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

  JacobiSolve(const Space& space, const Factor<Scalar, Space>& factor, Storage storage)
      : m_owner(factor.owner), m_scale(factor.scale) {
    OwnMatrix<Scalar, Space> n(factor.graph.num_rows, factor.graph.num_cols, factor.graph.row_ptrs,
                               factor.graph.col_idxs, factor.values);
    if (n.num_cols > n.num_rows) {
      const auto own = filter_entries<Scalar, Space>(space, n, IsOwnColumn<Scalar, Space>{n});
      n = OwnMatrix<Scalar, Space>(n.num_rows, n.num_rows, own.row_ptrs, own.col_idxs, own.values);
    }
    m_n = StoredMatrix<Scalar, Space>(space, n, {storage, MatrixFormat::automatic});
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

  /// Fixes the number of sweeps, see try_sweeps: at most the options'.
  void fix_sweeps(const Space& space, const TriangularOptions& options, int least) {
    // N is nilpotent: after as many sweeps as there are rows further ones would change nothing.
    const int most = static_cast<int>(std::min<std::int64_t>(options.sweeps, m_n.num_rows()));
    m_changes = try_sweeps<Scalar, Space>(
        space, m_n.num_rows(), most, options.tolerance, least,
        [&](const Vectors& x) {
          if (m_scale.extent(0) > 0) scale_vectors<Scalar, Space>(space, m_scale, x, x);
        },
        [&](const Const& source, const Const& from, const Vectors& to) {
          m_n.multiply_recurrence(space, {.product = -1, .source = 1}, from, source, to);
        });
    m_sweeps = m_changes.sweeps;
  }
  const Changes* changes() const override { return &m_changes; }

  std::int64_t bytes() const override {
    return m_n.bytes() + static_cast<std::int64_t>(m_scale.span() * sizeof(Scalar));
  }
  double flops() const override {
    const auto n = static_cast<double>(m_n.num_rows());
    return m_sweeps * (2 * static_cast<double>(m_n.nnz()) + n) + (m_scale.extent(0) > 0 ? n : 0);
  }

 private:
  /// The last sweep writes y.
  void sweep(const Space& space, Const x, Vectors y, const JacobiWorkspace<Scalar, Space>& own) const {
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
      from = to;
    }
  }

  std::string m_owner;
  Vector<Scalar, Space> m_scale;
  int m_sweeps = 0;
  Changes m_changes;
  StoredMatrix<Scalar, Space> m_n;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_jacobi_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                              const TriangularOptions& options) {
  const auto result = std::make_shared<JacobiSolve<Scalar, Space>>(space, factor, options.storage);
  result->fix_sweeps(space, options, 0);
  return result;
}

template <class Scalar, class Space>
SolvePointer<Scalar, Space> with_more_sweeps(const Space& space, const SolvePointer<Scalar, Space>& solve,
                                             const TriangularOptions& options, int least) {
  const auto result =
      std::make_shared<JacobiSolve<Scalar, Space>>(static_cast<const JacobiSolve<Scalar, Space>&>(*solve));
  result->fix_sweeps(space, options, least);
  return result;
}

#define PREKOND_JACOBI_SOLVE(Scalar, Space)                                  \
  template SolvePointer<Scalar, Space> make_jacobi_solve<Scalar, Space>(     \
      const Space&, const Factor<Scalar, Space>&, const TriangularOptions&); \
  template SolvePointer<Scalar, Space> with_more_sweeps<Scalar, Space>(      \
      const Space&, const SolvePointer<Scalar, Space>&, const TriangularOptions&, int);
PREKOND_INSTANTIATE(PREKOND_JACOBI_SOLVE)

}  // namespace prekond::impl::triangular
