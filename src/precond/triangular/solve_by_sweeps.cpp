// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include "matrix/bcsr_operator.hpp"
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "precond/setup/longest_row.hpp"
#include "precond/triangular/diagonal_blocks.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/try_sweeps.hpp"

#include <type_traits>

namespace prekond::impl::triangular {
namespace {

template <class Scalar, class Space>
struct JacobiWorkspace : Workspace {
  MultiVector<Scalar, Space> source;  ///< S x; without rows where S = I
  MultiVector<Scalar, Space> other;   ///< takes turns with y
};

/// N and S by single rows.
template <class Scalar, class Space>
struct RowsOfFactor {
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;
  using Matrix = typename StoredMatrix<Scalar, Space>::matrix_type;

  Vector<Scalar, Space> scale;
  StoredMatrix<Scalar, Space> n;

  RowsOfFactor(const Space& space, const Factor<Scalar, Space>& factor, Storage storage)
      : scale(factor.scale) {
    Matrix matrix(factor.graph.num_rows, factor.graph.num_cols, factor.graph.row_ptrs, factor.graph.col_idxs,
                  factor.values);
    if (matrix.num_cols > matrix.num_rows) {
      const auto own = filter_entries<Scalar, Space>(space, matrix, IsOwnColumn<Scalar, Space>{matrix});
      matrix = Matrix(matrix.num_rows, matrix.num_rows, own.row_ptrs, own.col_idxs, own.values);
    }
    n = StoredMatrix<Scalar, Space>(space, matrix, {storage, MatrixFormat::automatic});
  }
  void multiply_scale(const Space& space, Const x, Vectors y) const {
    scale_vectors<Scalar, Space>(space, scale, x, y);
  }
  void recurrence(const Space& space, const RecurrenceStep<Scalar>& step, Const x, Const b, Vectors y) const {
    n.multiply_recurrence(space, step, x, b, y);
  }
  std::int64_t bytes() const { return n.bytes() + static_cast<std::int64_t>(scale.span() * sizeof(Scalar)); }
  double sweep_flops() const { return 2 * static_cast<double>(n.nnz()) + static_cast<double>(n.num_rows()); }
  double scale_flops() const { return static_cast<double>(scale.extent(0)); }
};

/// N and S by blocks.
template <class Scalar, class Space>
struct BlocksOfFactor {
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;
  using Blocks = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  Vector<Scalar, Space> scale;
  Blocks n, s;
  bool owns_values;

  BlocksOfFactor(const Space& space, const Factor<Scalar, Space>& factor, Storage)
      : scale(factor.scale),
        n(factor.blocks.size, BlockOrder::by_columns, factor.graph.num_rows, factor.graph.num_rows,
          factor.graph.row_ptrs, factor.graph.col_idxs, factor.values, factor.blocks.padding),
        owns_values(factor.owns_values) {
    n.longest_row = longest_row<Space>(space, n.row_ptrs).length;
    if (scale.extent(0) == 0) return;
    s = diagonal_blocks(space, n);
    s.values = scale;
  }
  void multiply_scale(const Space& space, Const x, Vectors y) const {
    bcsr_recurrence<Scalar, Space>(space, {}, s, x, {}, y);
  }
  void recurrence(const Space& space, const RecurrenceStep<Scalar>& step, Const x, Const b, Vectors y) const {
    bcsr_recurrence<Scalar, Space>(space, step, n, x, b, y);
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(s.row_ptrs.span() * sizeof(std::size_t) +
                                     s.col_idxs.span() * sizeof(int) +
                                     (owns_values ? n.values.span() * sizeof(Scalar) : 0));
  }
  double sweep_flops() const { return 2 * static_cast<double>(n.values.extent(0)); }
  double scale_flops() const { return 2 * static_cast<double>(scale.extent(0)); }
};

/// `Rows`: RowsOfFactor or BlocksOfFactor.
template <class Rows, class Scalar, class Space>
class JacobiSolve : public Solve<Scalar, Space> {
 public:
  using Owned = MultiVector<Scalar, Space>;
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;

  JacobiSolve(const Space& space, const Factor<Scalar, Space>& factor, const TriangularOptions& options)
      : m_owner(factor.owner),
        m_num_rows(factor.num_rows()),
        m_sweeps(sweeps_of(options, factor.graph.num_rows)),
        m_rows(space, factor, options.storage) {}

  /// The reason for refusing the sweeps, see reason_against_sweeps.
  std::string refusal(const Space& space) const {
    return reason_against_sweeps<Scalar, Space>(
        space, m_num_rows, m_sweeps,
        [&](const Owned& x) {
          if (!has_scale()) return x;
          const auto scaled = allocate<Owned>(space, "prekond::triangular::numeric::scaled", m_num_rows, 1);
          m_rows.multiply_scale(space, x, scaled);
          return scaled;
        },
        [&](const Const& source, const Const& from, const Vectors& to) {
          m_rows.recurrence(space, {.product = -1, .source = 1}, from, source, to);
        });
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto workspace = std::make_unique<JacobiWorkspace<Scalar, Space>>();
    workspace->source = allocate<Owned>(space, "prekond::triangular::apply::source",
                                        has_scale() ? m_num_rows : 0, num_vectors);
    workspace->other = allocate<Owned>(space, "prekond::triangular::apply::other", m_num_rows, num_vectors);
    return workspace;
  }

  /// The last sweep writes y.
  void apply(const Space& space, Const x, Vectors y, Workspace& workspace) const override {
    const auto& own = static_cast<const JacobiWorkspace<Scalar, Space>&>(workspace);
    const std::size_t count = x.extent(1);
    const Vectors other = columns_of<Scalar, Space>(own.other, m_num_rows, count, m_owner);
    Const source = x;
    if (has_scale()) {
      const Vectors to =
          m_sweeps == 0 ? y : columns_of<Scalar, Space>(own.source, m_num_rows, count, m_owner);
      m_rows.multiply_scale(space, x, to);
      source = to;
    } else if (m_sweeps == 0) {
      Kokkos::deep_copy(space, y, x);
    }
    Const from = source;
    for (int k = 1; k <= m_sweeps; ++k) {
      const Vectors to = (m_sweeps - k) % 2 == 0 ? y : other;
      m_rows.recurrence(space, {.product = -1, .source = 1}, from, source, to);
      from = to;
    }
  }

  std::int64_t bytes() const override { return m_rows.bytes(); }
  double flops() const override { return m_sweeps * m_rows.sweep_flops() + m_rows.scale_flops(); }

 private:
  bool has_scale() const { return m_rows.scale.extent(0) > 0; }

  std::string m_owner;
  std::int64_t m_num_rows;
  int m_sweeps;
  Rows m_rows;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_jacobi_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                              const TriangularOptions& options, std::string& refusal) {
  const auto make = [&]<class Rows>(std::type_identity<Rows>) -> SolvePointer<Scalar, Space> {
    const auto solve = std::make_shared<const JacobiSolve<Rows, Scalar, Space>>(space, factor, options);
    refusal = solve->refusal(space);
    return refusal.empty() ? solve : nullptr;
  };
  if (factor.blocks.size > 0) return make(std::type_identity<BlocksOfFactor<Scalar, Space>>());
  return make(std::type_identity<RowsOfFactor<Scalar, Space>>());
}

#define PREKOND_JACOBI_SOLVE(Scalar, Space)                              \
  template SolvePointer<Scalar, Space> make_jacobi_solve<Scalar, Space>( \
      const Space&, const Factor<Scalar, Space>&, const TriangularOptions&, std::string&);
PREKOND_INSTANTIATE(PREKOND_JACOBI_SOLVE)

}  // namespace prekond::impl::triangular
