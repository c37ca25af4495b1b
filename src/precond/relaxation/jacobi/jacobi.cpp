// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/precond/jacobi.hpp>
#include "matrix/filter_entries.hpp"
#include "matrix/find_entry.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/relaxation/jacobi/blocks.hpp"
#include "precond/scaling/weak_diagonal.hpp"

#include <limits>
#include <stdexcept>

namespace prekond {
namespace impl::jacobi {

/// inverse_i = 1 / d_i of l1, or 1 where that is not finite.
template <class Scalar, class Space>
struct InvertL1 {
  using Rows = RowTeams<Space>;
  using Real = real_type_t<Scalar>;
  CsrView<Scalar, Space> a;
  VectorView<Scalar, Space> inverse;
  VectorView<BreakdownCounter, Space> outcome;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Real others = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
          [&](int k, Real& sum) {
            if (a.col_idxs(begin + k) != i) sum += Kokkos::abs(a.values(begin + k));
          },
          others);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        std::size_t place = 0;
        const Scalar diagonal = enlarged(find_entry(a, i, i, place), others);
        const Scalar value = Scalar(1) / diagonal;
        const bool sound = is_finite(diagonal) && is_finite(value);
        inverse(i) = sound ? value : Scalar(1);
        if (!sound) BreakdownCounter::count(outcome(0), static_cast<int>(i), true, 0.0f);
      });
    });
  }

  /// Larger by `others`, in the direction that it has.
  KOKKOS_FUNCTION static Scalar enlarged(const Scalar& diagonal, const Real& others) {
    if constexpr (is_complex<Scalar>) {
      const Real size = Kokkos::abs(diagonal);
      return size > 0 ? diagonal * ((size + others) / size) : Scalar(others);
    } else {
      return diagonal < 0 ? diagonal - others : diagonal + others;
    }
  }
};

template <class Scalar, class Space>
struct MultiplyAll {
  VectorView<Scalar, Space> x;
  Scalar factor;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { x(i) *= factor; }
};

template <class Scalar, class Space>
struct CountImaginary {
  VectorView<const Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    if (imaginary_part(x(i)) != 0) ++count;
  }
};

/// A's rows times d_i.
template <class Scalar, class Space>
struct ScaleMatrix {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> a;
  VectorView<const Scalar, Space> scale;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const Scalar own = scale(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
                           [&](std::size_t k) { values(k) *= own; });
    });
  }
};

template <class Scalar, class Space>
struct SweepWorkspace : Workspace {
  MultiVector<Scalar, Space> first;  ///< omega D^-1 b; of blocks the residual
  MultiVector<Scalar, Space> other;  ///< takes turns with y
};

}  // namespace impl::jacobi

namespace {

/// inverse_i = 1 / a_ii, or 1 where one of the two is not finite; first is the smallest such row, count their
/// number.
template <class Scalar, class Space>
void invert_diagonal(const Space& space, const CsrView<Scalar, Space>& a, VectorView<Scalar, Space> inverse,
                     std::int64_t& first, std::int64_t& count) {
  Kokkos::parallel_reduce(
      "prekond::jacobi::numeric", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
      KOKKOS_LAMBDA(int i, std::int64_t& first_row, std::int64_t& rows) {
        std::size_t place = 0;
        const Scalar diagonal = find_entry(a, i, i, place);
        const Scalar value = Scalar(1) / diagonal;
        const bool sound = is_finite(diagonal) && is_finite(value);
        inverse(i) = sound ? value : Scalar(1);
        if (!sound) {
          ++rows;
          if (i < first_row) first_row = i;
        }
      },
      Kokkos::Min<std::int64_t>(first), Kokkos::Sum<std::int64_t>(count));
}

template <class Scalar, class Space>
void scale_rows(const Space& space, VectorView<const Scalar, Space> scale,
                MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for(
      "prekond::jacobi::apply", Kokkos::RangePolicy<Space>(space, 0, scale.extent(0)), KOKKOS_LAMBDA(int i) {
        for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = scale(i) * x(i, v);
      });
}

}  // namespace

template <class Scalar, class Space>
Jacobi<Scalar, Space>::Jacobi(const JacobiOptions& options) : m_options(resolved(options)) {}

template <class Scalar, class Space>
Jacobi<Scalar, Space>::~Jacobi() = default;

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::symbolic_step(const Space& space, const matrix_source& source) {
  const std::int64_t n = source.num_rows();
  m_inverse = allocate<Vector<Scalar, Space>>(space, "prekond::jacobi::inverse",
                                              is_block() ? n * m_options.block_size : n);
  m_matrix = {};
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::invert_point(const Space& space, const matrix_view& a, Report& report) {
  std::int64_t first = 0;
  const auto strong = impl::zero_weak_diagonal<Scalar, Space>(space, a);
  invert_diagonal<Scalar, Space>(space, strong.matrix, m_inverse, first, report.breakdowns.count);
  if (report.breakdowns.count > 0) {
    report.breakdowns.first_row = first;
    report.breakdowns.action = "rows without a usable diagonal entry are not scaled";
  }
  report.numeric_flops = flops_of_scalar<Scalar> * static_cast<double>(a.num_rows);
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::invert_l1(const Space& space, const matrix_view& a, Report& report) {
  const auto outcome = impl::make_breakdown_counter(space, "prekond::jacobi::breakdowns");
  Kokkos::parallel_for("prekond::jacobi::numeric::l1",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       impl::jacobi::InvertL1<Scalar, Space>{a, m_inverse, outcome});
  report.breakdowns = impl::breakdowns_of(impl::fetch(space, outcome), "");
  if (report.breakdowns.count > 0)
    report.breakdowns.action = "rows without a usable sum of entries are not scaled";
  report.numeric_flops = flops_of_scalar<Scalar> * static_cast<double>(a.nnz());
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::invert_blocks(const Space& space, const matrix_source& source, Report& report) {
  const std::int64_t num_rows = source.num_rows();
  const int size = m_options.block_size;
  impl::jacobi::DiagonalBlocks<Scalar, Space> given;
  if (source.blocks() != nullptr && source.blocks()->block_size == size) {
    const auto& blocks = *source.blocks();
    const bool by_rows = blocks.order == BlockOrder::by_rows;
    given.graph.num_rows = blocks.num_block_rows;
    given.graph.num_cols = blocks.num_block_cols;
    given.graph.row_ptrs = blocks.row_ptrs;
    given.graph.col_idxs = blocks.col_idxs;
    given.values = blocks.values;
    given.size = size;
    given.row_stride = by_rows ? size : 1;
    given.column_stride = by_rows ? 1 : size;
  }
  matrix_view a = given.size > 0 ? matrix_view() : source.csr();
  const auto strong = impl::zero_weak_diagonal<Scalar, Space>(space, a, size);
  a = strong.matrix;
  using Blocks = impl::BlockEntries<Scalar, Space>;
  impl::StrongDiagonal<Scalar, Space, Blocks> strong_blocks;
  if constexpr (!is_complex<Scalar>)  // a complex matrix is not given by blocks
    if (given.size > 0) {
      strong_blocks = impl::zero_weak_diagonal<Scalar, Space>(space, Blocks(*source.blocks()), size);
      given.values = strong_blocks.matrix.values;
    }
  const auto outcome = impl::make_breakdown_counter(space, "prekond::jacobi::breakdowns");
  const auto run = [&](auto lanes) {
    using Kernel = impl::jacobi::InvertBlocks<Scalar, Space, decltype(lanes)::value>;
    Kokkos::parallel_for("prekond::jacobi::numeric::blocks", Kernel::policy(space, num_rows, size),
                         Kernel{a,
                                {num_rows, size},
                                static_cast<Scalar>(m_options.omega),
                                m_inverse,
                                outcome,
                                Kernel::blocks_of_team(size),
                                given});
  };
  if constexpr (is_host_space<Space>)
    run(std::integral_constant<int, 1>{});
  else if (size <= 8)
    run(std::integral_constant<int, 8>{});
  else
    run(std::integral_constant<int, 32>{});
  report.breakdowns = impl::breakdowns_of(impl::fetch(space, outcome), "");
  if (report.breakdowns.count > 0)
    report.breakdowns.action = "rows of singular blocks are scaled by their diagonal entries";
  report.numeric_flops = 2 * flops_of_scalar<Scalar> * static_cast<double>(num_rows) * size * size;
}

template <class Scalar, class Space>
bool Jacobi<Scalar, Space>::is_known_hermitian(const Space& space) const {
  if (is_block() || m_options.sweeps > 1) return false;
  if constexpr (!is_complex<Scalar>) return true;
  std::int64_t imaginary = 0;
  Kokkos::parallel_reduce(
      "prekond::jacobi::numeric::count_imaginary",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, m_inverse.extent(0)),
      impl::jacobi::CountImaginary<Scalar, Space>{m_inverse}, imaginary);
  return imaginary == 0;
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::keep_matrix(const Space& space, const matrix_view& a) {
  using Matrix = typename StoredMatrix<Scalar, Space>::matrix_type;
  const Matrix copy = filter_entries<Scalar, Space>(space, a, impl::IsOwnColumn<Scalar, Space>{a});
  const Matrix square(a.num_rows, a.num_rows, copy.row_ptrs, copy.col_idxs, copy.values);
  if (!is_block())
    Kokkos::parallel_for("prekond::jacobi::numeric::scale_matrix",
                         impl::RowTeams<Space>::policy(space, square.num_rows, square.nnz()),
                         impl::jacobi::ScaleMatrix<Scalar, Space>{square, m_inverse, square.values});
  m_matrix = StoredMatrix<Scalar, Space>(space, square, {Storage::full, MatrixFormat::automatic});
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  const auto n = static_cast<double>(source.num_rows());
  if (m_options.type == JacobiType::point) invert_point(space, source.csr(), report);
  if (m_options.type == JacobiType::l1) invert_l1(space, source.csr(), report);
  if (is_block()) invert_blocks(space, source, report);
  m_hermitian = is_known_hermitian(space);
  if (!is_block() && m_options.omega != 1)
    Kokkos::parallel_for(
        "prekond::jacobi::numeric::scale", Kokkos::RangePolicy<Space>(space, 0, source.num_rows()),
        impl::jacobi::MultiplyAll<Scalar, Space>{m_inverse, static_cast<Scalar>(m_options.omega)});
  if (m_options.sweeps > 1) keep_matrix(space, source.csr());
  report.nnz = static_cast<std::int64_t>(m_inverse.extent(0));
  const double once = flops_of_scalar<Scalar> * (is_block() ? 2 * n * m_options.block_size : n);
  const double further = flops_of_scalar<Scalar> * (2 * static_cast<double>(m_matrix.nnz()) + 2 * n);
  report.apply_flops = once + (m_options.sweeps - 1) * (further + (is_block() ? once : 0));
  report.bytes = static_cast<std::int64_t>(m_inverse.span() * sizeof(Scalar)) + m_matrix.bytes();
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Jacobi<Scalar, Space>::make_workspace(const Space& space, int num_vectors) const {
  using Base = MatrixPreconditioner<Scalar, Space>;
  if (m_options.sweeps == 1) return Base::make_workspace(space, num_vectors);
  auto workspace = std::make_unique<impl::jacobi::SweepWorkspace<Scalar, Space>>();
  using Vectors = MultiVector<Scalar, Space>;
  const std::int64_t n = this->num_rows();
  workspace->first = allocate<Vectors>(space, "prekond::jacobi::apply::first", n, num_vectors);
  workspace->other = allocate<Vectors>(space, "prekond::jacobi::apply::other",
                                       is_block() || m_options.sweeps == 2 ? 0 : n, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void Jacobi<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                       MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  using Vectors = MultiVectorView<Scalar, Space>;
  const auto apply_blocks = [&](const MultiVectorView<const Scalar, Space>& from, bool adds) {
    const impl::jacobi::BlockLayout<Space> layout{this->num_rows(), m_options.block_size};
    Kokkos::parallel_for(
        "prekond::jacobi::apply::blocks",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, this->num_rows()),
        impl::jacobi::ApplyBlocks<Scalar, Space>{layout, m_inverse, from, y, adds});
  };
  if (m_options.sweeps == 1) {
    if (is_block())
      apply_blocks(x, false);
    else
      scale_rows<Scalar, Space>(space, m_inverse, x, y);
    return;
  }
  const auto& own = static_cast<const impl::jacobi::SweepWorkspace<Scalar, Space>&>(workspace);
  if (x.extent(1) > own.first.extent(1))
    throw std::logic_error(name() + ": the workspace was made for fewer vectors");
  if (own.first.extent(0) != x.extent(0))
    throw std::logic_error(name() + ": the workspace was made for " + std::to_string(own.first.extent(0)) +
                           " rows, and there are " + std::to_string(x.extent(0)));
  const Vectors first(own.first.data(), own.first.extent(0), x.extent(1));
  const Vectors other(own.other.data(), own.other.extent(0), x.extent(1));
  if (is_block()) {
    apply_blocks(x, false);
    for (int k = 1; k < m_options.sweeps; ++k) {
      m_matrix.multiply_recurrence(space, {.product = Scalar(-1), .source = Scalar(1)}, y, x, first);
      apply_blocks(first, true);
    }
    return;
  }
  // y and the other vector take turns, so that the last sweep's result is in y.
  scale_rows<Scalar, Space>(space, m_inverse, x, first);
  Vectors from = first;
  for (int k = 1; k < m_options.sweeps; ++k) {
    const Vectors to = (m_options.sweeps - k) % 2 == 1 ? y : other;
    m_matrix.multiply_recurrence(space, {.product = Scalar(-1), .direct = Scalar(1), .source = Scalar(1)},
                                 from, first, to);
    from = to;
  }
}

#define PREKOND_JACOBI(Scalar, Space) template class Jacobi<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_JACOBI)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_JACOBI)

}  // namespace prekond
