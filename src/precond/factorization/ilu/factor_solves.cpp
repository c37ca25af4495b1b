// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/ilu/factor_solves.hpp"

#include <stdexcept>

#include "core/instantiate.hpp"
#include "pattern/levels/row_blocks.hpp"
#include "precond/factorization/ilu/numeric.hpp"
#include "precond/triangular/finite_factor.hpp"

namespace prekond::impl::ilu {
namespace {

/// The workspace of solves by blocks, which need no vectors of their own.
struct BlockwiseWorkspace : Workspace {
  BlockwiseWorkspace(std::int64_t rows, int vectors) : num_rows(rows), num_vectors(vectors) {}
  std::int64_t num_rows;
  int num_vectors;
};

/// The least and the largest |r_i|.
template <class Scalar, class Space>
struct ScaleRange {
  VectorView<const Scalar, Space> row_scale;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Kokkos::MinMaxScalar<Scalar>& range) const {
    const Scalar size = Kokkos::abs(row_scale(i));
    if (size < range.min_val) range.min_val = size;
    if (size > range.max_val) range.max_val = size;
  }
};

}  // namespace

/// Forgets the blocks of an earlier pattern.
template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::begin(std::int64_t num_rows) {
  m_num_rows = num_rows;
  m_blocks = {};
  m_blockwise = nullptr;
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::symbolic(const Space& space, const FillPattern<Space>& pattern,
                                           const LevelSchedule<Space>& levels) {
  begin(pattern.num_rows());
  if (levels.num_rows() == 0) return symbolic(space, pattern);
  Pair::symbolic(space, pattern, levels);
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::symbolic(const Space& space, const FillPattern<Space>& pattern) {
  begin(pattern.num_rows());
  const bool exact =
      m_options.method != TriangularMethod::jacobi && m_options.method != TriangularMethod::isai;
  if (m_options.method == TriangularMethod::automatic)
    m_blocks = levels::find_row_blocks<Space>(space, pattern.lower, pattern.upper);
  if (m_blocks) return;
  if (exact && pattern.num_rows() > 0) {
    symbolic(space, pattern, level_schedule<Space>(space, pattern.lower, Triangle::lower));
    return;
  }
  m_lower.symbolic(space, pattern.lower);
  m_upper.symbolic(space, pattern.upper);
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::solve_exactly(const Space& space, Triangle which,
                                                const CsrGraph<Space>& pattern,
                                                const Vector<Scalar, Space>& values,
                                                const Vector<Scalar, Space>& scale, Report& report) {
  TriangularOptions options = m_options;
  options.method = TriangularMethod::automatic;
  TriangularSolver<Scalar, Space> solver(m_owner, which, options);
  solver.symbolic(space, pattern);
  auto& sweeps = which == Triangle::lower ? m_lower : m_upper;
  std::erase(report.notes, sweeps.description());
  solver.numeric(space, values, scale, report);
  sweeps = solver;
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::numeric(const Space& space, const FillPattern<Space>& pattern,
                                          const sweeps::Factors<Scalar, Space>& factors, bool same_methods,
                                          Report& report) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const std::int64_t n = pattern.num_rows();
  Kokkos::MinMaxScalar<Scalar> range;
  Kokkos::parallel_reduce("prekond::ilu::numeric::scale_range", Policy(space, 0, n),
                          ScaleRange<Scalar, Space>{factors.row_scale}, Kokkos::MinMax<Scalar>(range));
  Vector<Scalar, Space> upper_scale = factors.pivots;
  m_last_scale = factors.row_scale;
  if (range.min_val == range.max_val) {
    // C is a multiple of I, and goes through U's solve.
    upper_scale = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::upper_scale", n);
    Kokkos::deep_copy(space, upper_scale, factors.pivots);
    Kokkos::parallel_for("prekond::ilu::numeric::scale_pivots", Policy(space, 0, n),
                         sweeps::MultiplyAll<Scalar, Space>{upper_scale, range.max_val});
    m_last_scale = {};
  }
  if (m_blocks) return numeric_by_blocks(space, pattern, factors, upper_scale, same_methods, report);
  if (same_methods && m_options.method == TriangularMethod::isai) {
    m_lower.numeric_with_transpose(space, factors.lower, factors.row_scale, m_upper, factors.upper,
                                   upper_scale, report);
    return;
  }
  m_lower.numeric(space, factors.lower, factors.row_scale, report);
  m_upper.numeric(space, factors.upper, upper_scale, report);
  if (same_methods) make_same(space, pattern, factors, upper_scale, report);
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::numeric_by_blocks(const Space& space, const FillPattern<Space>& pattern,
                                                    const Factors& factors,
                                                    const Vector<Scalar, Space>& upper_scale,
                                                    bool upper_is_transposed, Report& report) {
  using Factor = triangular::Factor<Scalar, Space>;
  const auto finite = [&](const Factor& factor) {
    return triangular::finite_factor<Scalar, Space>(space, factor, report);
  };
  const Factor lower = finite(
      {m_owner + ", lower solve", Triangle::lower, pattern.lower, {}, factors.lower, factors.row_scale});
  const Factor upper = finite({m_owner + ", upper solve",
                               Triangle::upper,
                               pattern.upper,
                               {},
                               upper_is_transposed ? Vector<Scalar, Space>() : factors.upper,
                               upper_scale});
  m_blockwise = triangular::make_blockwise_solves<Scalar, Space>(space, m_blocks, lower, upper, m_last_scale,
                                                                 m_options.storage, report.notes);
  report.notes.push_back(m_owner + ", lower and upper solve: " + std::to_string(m_blocks.count) +
                         " diagonal blocks, a thread each");
  space.fence("prekond::ilu::numeric_by_blocks");  // temporaries are freed
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::make_same(const Space& space, const FillPattern<Space>& pattern,
                                            const Factors& factors, const Vector<Scalar, Space>& upper_scale,
                                            Report& report) {
  const bool lower_is_so = m_lower.method() == m_options.method;
  const bool upper_is_so = m_upper.method() == m_options.method;
  if (m_options.method != TriangularMethod::jacobi || lower_is_so == upper_is_so) return;
  if (lower_is_so)
    solve_exactly(space, Triangle::lower, pattern.lower, factors.lower, factors.row_scale, report);
  if (upper_is_so) solve_exactly(space, Triangle::upper, pattern.upper, factors.upper, upper_scale, report);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> FactorSolves<Scalar, Space>::make_workspace(const Space& space,
                                                                       int num_vectors) const {
  if (m_blockwise) return std::make_unique<BlockwiseWorkspace>(m_num_rows, num_vectors);
  return Pair::make_workspace(space, num_vectors);
}

template <class Scalar, class Space>
void FactorSolves<Scalar, Space>::apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  if (m_blockwise) {
    auto* own = dynamic_cast<BlockwiseWorkspace*>(&workspace);
    const auto num_vectors = static_cast<int>(x.extent(1));
    if (!own || own->num_rows != static_cast<std::int64_t>(x.extent(0)) || own->num_vectors < num_vectors)
      throw std::logic_error(m_owner + ": the workspace was made for another matrix or fewer vectors");
    return m_blockwise->apply(space, x, y);
  }
  Pair::apply(space, x, y, workspace);
  if (m_last_scale.extent(0) > 0) scale_columns<Scalar, Space>(space, m_last_scale, y);
}

template <class Scalar, class Space>
std::int64_t FactorSolves<Scalar, Space>::bytes() const {
  return Pair::bytes() + (m_blockwise ? m_blockwise->bytes() : 0) +
         static_cast<std::int64_t>(m_last_scale.span() * sizeof(Scalar));
}

template <class Scalar, class Space>
double FactorSolves<Scalar, Space>::flops() const {
  return Pair::flops() + (m_blockwise ? m_blockwise->flops() : 0) + double(m_last_scale.extent(0));
}

#define PREKOND_FACTOR_SOLVES(Scalar, Space) template class FactorSolves<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_FACTOR_SOLVES)

}  // namespace prekond::impl::ilu
