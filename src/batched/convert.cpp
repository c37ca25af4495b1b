// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/convert.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include "matrix/counter_hash.hpp"

#include "core/instantiate.hpp"

#include <limits>
#include <string>

namespace prekond {
namespace {

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Copies the values of matrix s where its pattern is that of the batch, and records s otherwise.
template <class Scalar, class Space>
struct TakeMatrix {
  CsrView<Scalar, Space> from;
  BatchedCsr<Scalar, Space> batch;
  MultiVectorView<Scalar, Space> values;
  VectorView<int, Space> first_different;
  int s;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    bool equal = from.row_ptrs(i) == batch.row_ptrs(i) && from.row_ptrs(i + 1) == batch.row_ptrs(i + 1);
    if (equal)
      for (std::size_t k = batch.row_ptrs(i); k < batch.row_ptrs(i + 1); ++k) {
        equal = equal && from.col_idxs(k) == batch.col_idxs(k);
        values(k, s) = from.values(k);
      }
    if (!equal) Kokkos::atomic_min(&first_different(0), s);
  }
};

/// The first block whose row differs from that of block 0, or reaches out of its block.
template <class Scalar, class Space>
struct CompareBlocks {
  CsrView<Scalar, Space> a;
  std::int64_t num_rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first_different) const {
    const std::int64_t block = i / num_rows, own = i - block * num_rows, offset = block * num_rows;
    const std::size_t begin = a.row_ptrs(i), model = a.row_ptrs(own);
    const std::size_t length = a.row_ptrs(i + 1) - begin;
    bool equal = length == a.row_ptrs(own + 1) - model &&
                 begin - model == static_cast<std::size_t>(block) * a.row_ptrs(num_rows);
    for (std::size_t k = 0; equal && k < length; ++k) {
      const std::int64_t col = a.col_idxs(begin + k) - offset;
      equal = col == a.col_idxs(model + k) && col < num_rows;
    }
    if (!equal && block < first_different) first_different = block;
  }
};

/// Row i of system s of a perturbed batch.
template <class Scalar, class Space>
struct PerturbRows {
  CsrView<Scalar, Space> model;
  MultiVectorView<Scalar, Space> values;
  BatchedPerturbation perturbation;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t s = index / model.num_rows, i = index - s * model.num_rows;
    for (std::size_t k = model.row_ptrs(i); k < model.row_ptrs(i + 1); ++k) {
      const std::int64_t j = model.col_idxs(k), least = Kokkos::min(i, j), most = Kokkos::max(i, j);
      const auto hash = impl::counter_hash(perturbation.seed, std::uint64_t(s),
                                           std::uint64_t(least * model.num_rows + most));
      const double factor = i == j ? 1 : 1 - perturbation.spread * impl::unit_interval(hash);
      values(k, s) = model.values(k) * static_cast<real_type_t<Scalar>>(factor);
    }
  }
};

/// Copies row i of system s of a CSR batch for all i and s; `put` stores an entry.
template <class Scalar, class Space, class Put>
struct CopyRows {
  impl::batched::CsrSystems<Scalar> systems;
  Put put;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t s = index / systems.num_rows;
    const int i = static_cast<int>(index - s * systems.num_rows);
    systems.system(s).for_each_entry(
        i, [&](std::size_t k, int col, const Scalar& value) { put(s, i, static_cast<int>(k), col, value); });
  }
};

template <class Scalar, class Space, class Put>
void copy_rows(const Space& space, const BatchedCsr<Scalar, Space>& a, const Put& put) {
  Kokkos::parallel_for("prekond::batched::copy_rows", Range<Space>(space, 0, a.num_rows * a.num_systems()),
                       CopyRows<Scalar, Space, Put>{a.systems(), put});
  space.fence("prekond::batched::copy_rows");
}

template <class Scalar, class Space>
struct PutEll {
  MultiVectorView<int, Space> col_idxs;
  MultiVectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t s, int i, int k, int col, const Scalar& value) const {
    if (s == 0) col_idxs(i, k) = col;
    values(i + k * static_cast<std::int64_t>(col_idxs.extent(0)), s) = value;
  }
};
template <class Scalar, class Space>
struct PutDense {
  std::int64_t leading;
  MultiVectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t s, int i, int, int col, const Scalar& value) const {
    values(i + col * leading, s) = value;
  }
};
template <class Scalar, class Space>
struct PutBanded {
  std::int64_t upper, leading;
  MultiVectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t s, int i, int, int col, const Scalar& value) const {
    values(upper + i - col + col * leading, s) = value;
  }
};

/// The length of the longest row and the bandwidths.
struct Extents {
  int width = 0, lower = 0, upper = 0;
};

template <class Space>
struct FindExtent {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& width, int& lower, int& upper) const {
    const int length = static_cast<int>(row_ptrs(i + 1) - row_ptrs(i));
    if (length == 0) return;
    const int below = static_cast<int>(i) - col_idxs(row_ptrs(i));
    const int above = col_idxs(row_ptrs(i + 1) - 1) - static_cast<int>(i);
    if (length > width) width = length;
    if (below > lower) lower = below;
    if (above > upper) upper = above;
  }
};

template <class Scalar, class Space>
Extents find_extents(const Space& space, const BatchedCsr<Scalar, Space>& a) {
  Extents found;
  Kokkos::parallel_reduce("prekond::batched::extents", Range<Space>(space, 0, a.num_rows),
                          FindExtent<Space>{a.row_ptrs, a.col_idxs}, Kokkos::Max<int>(found.width),
                          Kokkos::Max<int>(found.lower), Kokkos::Max<int>(found.upper));
  // Without rows the results are the initial values of the reducers.
  return a.num_rows == 0
             ? Extents{}
             : Extents{std::max(found.width, 0), std::max(found.lower, 0), std::max(found.upper, 0)};
}

/// Systems by teams, the elements of one by the threads of its team.
template <class Space>
struct SystemRange {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static Policy policy(const Space& space, std::int64_t systems) {
    return Policy(space, static_cast<int>(systems), is_host_space<Space> ? 1 : 64);
  }
};

/// The exponent of the largest part of an entry of column s; 0 where all are zero, or one is not finite.
template <class Scalar, class Space, class Member>
KOKKOS_FUNCTION int largest_exponent(const Member& team, const MultiVectorView<const Scalar, Space>& v,
                                     std::int64_t s) {
  double largest = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, v.extent(0)),
      [&](std::size_t i, double& most) {
        const double re = Kokkos::abs(double(real_part(v(i, s)))),
                     im = Kokkos::abs(double(imaginary_part(v(i, s))));
        const double size = re > im ? re : im;
        if (!(size <= most)) most = size;  // a NaN too
      },
      Kokkos::Max<double>(largest));
  return largest > 0 && Kokkos::isfinite(largest) ? static_cast<int>(Kokkos::logb(largest)) : 0;
}

/// 2^k for an exponent of normal doubles.
KOKKOS_INLINE_FUNCTION double double_power(int k) {
  return Kokkos::bit_cast<double>(static_cast<std::int64_t>(k + 1023) << 52);
}

/// Column s times 2^power, in factors that are numbers.
template <class Scalar, class Space, class Member>
KOKKOS_FUNCTION void times_power(const Member& team, const MultiVectorView<Scalar, Space>& v, std::int64_t s,
                                 int power) {
  using Wide = in_precision_t<Scalar, double>;
  const int first = power / 3, second = (power - first) / 2;
  const double factors[] = {double_power(first), double_power(second), double_power(power - first - second)};
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, v.extent(0)), [&](std::size_t i) {
    const Wide value = to_double(v(i, s));
    v(i, s) = static_cast<Scalar>(((value * factors[0]) * factors[1]) * factors[2]);
  });
}

template <class Scalar, class Space>
struct ScaleSystem {
  MultiVectorView<Scalar, Space> values;
  VectorView<int, Space> exponents;
  static constexpr int most = std::numeric_limits<real_type_t<Scalar>>::max_exponent / 8;

  KOKKOS_FUNCTION void operator()(const typename SystemRange<Space>::Member& team) const {
    const int s = team.league_rank();
    const int found = largest_exponent<Scalar, Space>(team, values, s);
    const int exponent = found < -most || found > most ? found : 0;
    Kokkos::single(Kokkos::PerTeam(team), [&] { exponents(s) = exponent; });
    if (exponent != 0) times_power<Scalar, Space>(team, values, s, -exponent);
  }
};

template <class Scalar, class Space>
struct UnscaleSolution {
  VectorView<const int, Space> matrix, rhs;
  MultiVectorView<Scalar, Space> x;
  VectorView<StopReason, Space> reasons;

  KOKKOS_FUNCTION void operator()(const typename SystemRange<Space>::Member& team) const {
    using Limits = std::numeric_limits<real_type_t<Scalar>>;
    const int s = team.league_rank();
    const int power = rhs(s) - matrix(s);
    if (power == 0) return;
    const int exponent = largest_exponent<Scalar, Space>(team, x, s) + power;
    times_power<Scalar, Space>(team, x, s, power);
    const bool fits = exponent < Limits::max_exponent && exponent >= Limits::min_exponent + Limits::digits;
    if (!fits && converged(reasons(s)) && reasons(s) != StopReason::zero_rhs)
      Kokkos::single(Kokkos::PerTeam(team), [&] { reasons(s) = StopReason::out_of_range; });
  }
};

}  // namespace

template <class Scalar, class Space>
BatchedScaling<Space> scale_batch(const Space& space,
                                  const std::type_identity_t<MultiVectorView<Scalar, Space>>& values,
                                  const std::type_identity_t<MultiVectorView<Scalar, Space>>& b) {
  const auto exponents = [&](const MultiVectorView<Scalar, Space>& numbers) {
    const auto found = allocate<Vector<int, Space>>(space, "prekond::batched::exponents", numbers.extent(1));
    if (numbers.extent(1) > 0)
      Kokkos::parallel_for("prekond::batched::scale",
                           SystemRange<Space>::policy(space, static_cast<std::int64_t>(numbers.extent(1))),
                           ScaleSystem<Scalar, Space>{numbers, found});
    return found;
  };
  return {exponents(values), exponents(b)};
}

template <class Scalar, class Space>
void unscale_solutions(const Space& space, const BatchedScaling<Space>& scaling,
                       const std::type_identity_t<MultiVectorView<Scalar, Space>>& x,
                       const BatchedResult<Space>& result) {
  if (x.extent(1) > 0)
    Kokkos::parallel_for("prekond::batched::unscale",
                         SystemRange<Space>::policy(space, static_cast<std::int64_t>(x.extent(1))),
                         UnscaleSolution<Scalar, Space>{scaling.matrix, scaling.rhs, x, result.reasons});
}

template <class Scalar, class Space>
BatchedStorage<BatchedCsr<Scalar, Space>> batched_from_matrices(
    const Space& space, const std::vector<CsrView<Scalar, Space>>& matrices) {
  if (matrices.empty()) throw InputError("batched: the list of matrices is empty");
  const CsrView<Scalar, Space>& model = matrices.front();
  const auto refuse = [](std::size_t s, const std::string& why) {
    throw InputError("batched: matrix " + std::to_string(s) + " of the list " + why);
  };
  BatchedStorage<BatchedCsr<Scalar, Space>> batch;
  batch.pattern.num_rows = batch.pattern.num_cols = model.num_rows;
  batch.pattern.row_ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::batched::pattern::row_ptrs", model.num_rows + 1);
  batch.pattern.col_idxs =
      allocate<Vector<int, Space>>(space, "prekond::batched::pattern::col_idxs", model.nnz());
  batch.values =
      allocate<MultiVector<Scalar, Space>>(space, "prekond::batched::values", model.nnz(), matrices.size());
  Kokkos::deep_copy(space, batch.pattern.row_ptrs, model.row_ptrs);
  Kokkos::deep_copy(space, batch.pattern.col_idxs, model.col_idxs);
  batch.matrix = {model.num_rows, batch.pattern.row_ptrs, batch.pattern.col_idxs, batch.values};
  const int count = static_cast<int>(matrices.size());
  const auto different = allocate<Vector<int, Space>>(space, "prekond::batched::first_different", 1);
  Kokkos::deep_copy(space, different, count);
  for (int s = 0; s < count; ++s) {
    const CsrView<Scalar, Space>& a = matrices[s];
    if (a.num_rows != a.num_cols) refuse(s, "is not square");
    if (a.num_rows != model.num_rows || a.nnz() != model.nnz()) {
      refuse(s, "has another pattern than matrix 0: other numbers of rows or entries");
    }
    Kokkos::parallel_for("prekond::batched::take_matrix", Range<Space>(space, 0, a.num_rows),
                         TakeMatrix<Scalar, Space>{a, batch.matrix, batch.values, different, s});
  }
  int first = count;
  Kokkos::deep_copy(space, Kokkos::View<int, Kokkos::HostSpace>(&first), Kokkos::subview(different, 0));
  space.fence("prekond::batched::from_matrices");
  if (first < count) refuse(static_cast<std::size_t>(first), "has another pattern than matrix 0");
  return batch;
}

template <class Scalar, class Space>
BatchedStorage<BatchedCsr<Scalar, Space>> perturbed_batch(const Space& space,
                                                          const CsrView<Scalar, Space>& model,
                                                          std::int64_t num_systems,
                                                          const BatchedPerturbation& perturbation) {
  if (!(perturbation.spread >= 0 && perturbation.spread <= 1))
    throw InputError("batched: the spread of a perturbation is 0 to 1, not " +
                     std::to_string(perturbation.spread));
  auto batch = batched_from_matrices<Scalar, Space>(space, {model});
  batch.values =
      allocate<MultiVector<Scalar, Space>>(space, "prekond::batched::values", model.nnz(), num_systems);
  Kokkos::parallel_for("prekond::batched::perturb", Range<Space>(space, 0, model.num_rows * num_systems),
                       PerturbRows<Scalar, Space>{model, batch.values, perturbation});
  space.fence("prekond::batched::perturbed_batch");
  batch.matrix.values = batch.values;
  return batch;
}

template <class Scalar, class Space>
BatchedCsr<Scalar, Space> batched_from_blocks(const Space& space, const CsrView<Scalar, Space>& a,
                                              std::int64_t num_rows) {
  if (a.num_rows != a.num_cols) throw InputError("batched: the matrix of blocks is not square");
  if (num_rows < 1 || a.num_rows % num_rows != 0)
    throw InputError("batched: blocks of " + std::to_string(num_rows) + " rows do not make a matrix of " +
                     std::to_string(a.num_rows));
  const std::int64_t blocks = a.num_rows / num_rows;
  std::int64_t first = blocks;
  Kokkos::parallel_reduce("prekond::batched::compare_blocks", Range<Space>(space, 0, a.num_rows),
                          CompareBlocks<Scalar, Space>{a, num_rows}, Kokkos::Min<std::int64_t>(first));
  if (first < blocks)
    throw InputError("batched: block " + std::to_string(first) +
                     " of the matrix has another pattern than block 0, or entries outside of the block");
  const std::size_t nnz = blocks == 0 ? 0 : static_cast<std::size_t>(a.nnz() / blocks);
  return {num_rows, VectorView<const std::size_t, Space>(a.row_ptrs.data(), num_rows + 1),
          VectorView<const int, Space>(a.col_idxs.data(), nnz),
          MultiVectorView<const Scalar, Space>(a.values.data(), nnz, static_cast<std::size_t>(blocks))};
}

template <class Scalar, class Space>
BatchedStorage<BatchedEll<Scalar, Space>> to_ell(const Space& space, const BatchedCsr<Scalar, Space>& a) {
  const int width = find_extents(space, a).width;
  BatchedStorage<BatchedEll<Scalar, Space>> batch;
  batch.col_idxs = allocate<MultiVector<int, Space>>(space, "prekond::batched::col_idxs", a.num_rows, width);
  Kokkos::deep_copy(space, batch.col_idxs, -1);
  batch.values = allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::batched::values",
                                                           a.num_rows * width, a.num_systems());
  copy_rows(space, a, PutEll<Scalar, Space>{batch.col_idxs, batch.values});
  batch.matrix = {a.num_rows, batch.col_idxs, batch.values, a.num_entries()};
  return batch;
}

template <class Scalar, class Space>
BatchedStorage<BatchedDense<Scalar, Space>> to_dense(const Space& space, const BatchedCsr<Scalar, Space>& a) {
  BatchedStorage<BatchedDense<Scalar, Space>> batch;
  batch.values = allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::batched::values",
                                                           a.num_rows * a.num_rows, a.num_systems());
  copy_rows(space, a, PutDense<Scalar, Space>{a.num_rows, batch.values});
  batch.matrix = {a.num_rows, a.num_rows, batch.values};
  return batch;
}

template <class Scalar, class Space>
BatchedStorage<BatchedBanded<Scalar, Space>> to_banded(const Space& space,
                                                       const BatchedCsr<Scalar, Space>& a) {
  const Extents found = find_extents(space, a);
  const int leading = found.lower + found.upper + 1;
  BatchedStorage<BatchedBanded<Scalar, Space>> batch;
  batch.values = allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::batched::values",
                                                           a.num_rows * leading, a.num_systems());
  copy_rows(space, a, PutBanded<Scalar, Space>{found.upper, leading, batch.values});
  batch.matrix = {a.num_rows, found.lower, found.upper, leading, batch.values};
  return batch;
}

#define PREKOND_BATCHED_CONVERT(Scalar, Space)                                                               \
  template BatchedScaling<Space> scale_batch<Scalar, Space>(                                                 \
      const Space&, const MultiVectorView<Scalar, Space>&, const MultiVectorView<Scalar, Space>&);           \
  template void unscale_solutions<Scalar, Space>(const Space&, const BatchedScaling<Space>&,                 \
                                                 const MultiVectorView<Scalar, Space>&,                      \
                                                 const BatchedResult<Space>&);                               \
  template BatchedStorage<BatchedCsr<Scalar, Space>> batched_from_matrices(                                  \
      const Space&, const std::vector<CsrView<Scalar, Space>>&);                                             \
  template BatchedStorage<BatchedCsr<Scalar, Space>> perturbed_batch(                                        \
      const Space&, const CsrView<Scalar, Space>&, std::int64_t, const BatchedPerturbation&);                \
  template BatchedCsr<Scalar, Space> batched_from_blocks(const Space&, const CsrView<Scalar, Space>&,        \
                                                         std::int64_t);                                      \
  template BatchedStorage<BatchedEll<Scalar, Space>> to_ell(const Space&, const BatchedCsr<Scalar, Space>&); \
  template BatchedStorage<BatchedDense<Scalar, Space>> to_dense(const Space&,                                \
                                                                const BatchedCsr<Scalar, Space>&);           \
  template BatchedStorage<BatchedBanded<Scalar, Space>> to_banded(const Space&,                              \
                                                                  const BatchedCsr<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_BATCHED_CONVERT)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_BATCHED_CONVERT)

}  // namespace prekond
