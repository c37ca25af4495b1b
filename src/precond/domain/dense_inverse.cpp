// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/domain/dense_inverse.hpp"

#include <prekond/core/error.hpp>
#include "core/concurrency.hpp"

#include "core/instantiate.hpp"
#include "core/team_scratch.hpp"
#include "precond/domain/dense_kernels.hpp"
#include "precond/setup/setup_time.hpp"

#include <algorithm>
#include <string>

namespace prekond::impl::block {
namespace {

inline std::size_t size_of(Storage storage, std::size_t full) {
  if (storage == Storage::full) return full;
  return storage == Storage::single_precision ? 4 : 2;
}

inline std::string text_of_singular(const BreakdownCounter& counted, int replaced, int fell_back) {
  std::string text;
  if (replaced > 0)
    text = std::to_string(counted.pivots) + " singular directions of " + std::to_string(replaced) +
           " blocks were replaced";
  if (fell_back > 0)
    text += (text.empty() ? "" : "; ") + std::to_string(fell_back) +
            " blocks without a finite inverse fell back to their diagonals";
  return text;
}

/// Rows squared, by subdomain, and cubed.
template <class Space>
struct SumPowers {
  VectorView<const int, Space> ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t d, double& squares, double& cubes) const {
    const double m = ptrs(d + 1) - ptrs(d);
    squares += m * m;
    cubes += m * m * m;
  }
};

}  // namespace

template <class Scalar, class Space>
DenseInverse<Scalar, Space>::DenseInverse(const DenseBlockOptions& options) : m_options(resolved(options)) {
  // A float's single precision is full: no scales, no other type.
  if (sizeof(Scalar) == 4 && m_options.storage == Storage::single_precision)
    m_options.storage = Storage::full;
}

template <class Scalar, class Space>
DenseInverse<Scalar, Space>::~DenseInverse() = default;

template <class Scalar, class Space>
void DenseInverse<Scalar, Space>::check_growth(const WantedSubdomains& wanted,
                                               const GrownSubdomains& grown) const {
  const auto number = static_cast<double>(size_of(m_options.storage, sizeof(Scalar)));
  const double allowed = m_options.memory_budget > 0
                             ? double(m_options.memory_budget)
                             : bytes_allowed(wanted, [&](double rows) { return rows * rows * number; });
  const double bytes = grown.squares * number;
  if (bytes <= allowed) return;
  throw InputError("local = dense: the inverses of blocks of " + std::to_string(grown.largest) +
                   " rows and others take at least " + std::to_string(std::int64_t(bytes)) + " bytes; " +
                   std::to_string(std::int64_t(allowed)) +
                   " are allowed. A row with many entries has made the block so large: choose overlap = 0, "
                   "or local = ilu0, or set local.memory_budget");
}

template <class Scalar, class Space>
void DenseInverse<Scalar, Space>::symbolic(const Space& space, const BlockValues<Scalar, Space>& values) {
  const DiagonalBlocks<Space>& blocks = values.blocks;
  m_subdomains = blocks.subdomains;
  constexpr int height = SlicedRows<Space>::height;
  const std::int64_t slices = (m_subdomains.num_places + height - 1) / height;
  const auto [slice_ptrs, numbers] = scan_row_lengths(space, "prekond::block::symbolic::slices", slices,
                                                      SliceSize<Space>{places_of(m_subdomains)});
  m_slice_ptrs = slice_ptrs;
  m_bytes = numbers * size_of(m_options.storage, sizeof(Scalar));
  const std::int64_t budget =
      m_options.memory_budget > 0 ? m_options.memory_budget : static_cast<std::int64_t>(most_bytes);
  if (m_bytes > static_cast<std::size_t>(budget))
    throw InputError(
        "local = dense: the inverses of blocks of up to " + std::to_string(m_subdomains.largest) +
        " rows take " + std::to_string(m_bytes) + " bytes; local.memory_budget = " + std::to_string(budget) +
        " are allowed. Choose smaller blocks, or set local.memory_budget = " + std::to_string(m_bytes));
  Kokkos::parallel_reduce(
      "prekond::block::symbolic::sum_powers",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, m_subdomains.count()),
      SumPowers<Space>{m_subdomains.ptrs}, Kokkos::Sum<double>(m_squares), Kokkos::Sum<double>(m_cubes));
  const double m = m_subdomains.largest;
  const std::string note = cost_note(space, "local = dense", DenseWork{2 * m_cubes, 2 * m * m * m},
                                     "a block of " + std::to_string(m_subdomains.largest) + " rows");
  if (m_listener && !note.empty()) m_listener(note);
}

template <class Scalar, class Space>
template <int Panel>
void DenseInverse<Scalar, Space>::invert(const Space& space, const BlockValues<Scalar, Space>& values,
                                         State& next, VectorView<BreakdownCounter, Space> outcome,
                                         VectorView<int, Space> blocks) const {
  const InvertBlock<Scalar, Space, Panel> kernel{CsrGraphView<Space>(values.blocks.pattern),
                                                 values.blocks.source,
                                                 values.a,
                                                 m_subdomains.ptrs,
                                                 m_subdomains.rows,
                                                 {m_slice_ptrs},
                                                 m_options.storage,
                                                 next.values.data(),
                                                 next.exponents,
                                                 outcome,
                                                 blocks};
  const int count = static_cast<int>(m_subdomains.count()), m = m_subdomains.largest;
  const std::size_t bytes = PanelInverse<Scalar, Panel>::bytes(m);
  const char* label = "prekond::block::numeric::invert";
  if constexpr (Panel == 1 && !is_host_space<Space>) {
    const auto go = [&](auto width) {
      const InvertByVectors<Scalar, Space, decltype(width)::value> by_vectors{kernel, count, bytes};
      Kokkos::parallel_for(label, by_vectors.policy(space), by_vectors);
    };
    if (m <= 4) return go(std::integral_constant<int, 4>{});
    if (m <= 8) return go(std::integral_constant<int, 8>{});
    if (m <= 16) return go(std::integral_constant<int, 16>{});
    return go(std::integral_constant<int, 32>{});
  } else {
    InvertByTeams<Scalar, Space, Panel> by_teams{kernel, count, bytes, {}, {}};
    int teams = count;
    Vector<char, Space> slab;
    Vector<int, Space> fetched;
    if (is_host_space<Space> || bytes > DenseTuning::scratch_limit) {
      const auto budget = static_cast<std::size_t>(m_options.workspace_budget) / bytes;
      const std::size_t most = is_host_space<Space> ? static_cast<std::size_t>(concurrency(space))
                                                    : std::size_t(DenseTuning::max_slab_teams);
      teams = static_cast<int>(std::max<std::size_t>(1, std::min({budget, most, std::size_t(count)})));
      slab = allocate<Vector<char, Space>>(space, "prekond::block::numeric::slab",
                                           bytes * static_cast<std::size_t>(teams));
      fetched = allocate_zero<Vector<int, Space>>(space, "prekond::block::numeric::next", 1);
      by_teams.slab = slab;
      by_teams.next = fetched;
    }
    Kokkos::parallel_for(label, by_teams.policy(space, teams), by_teams);
    space.fence("prekond::block::numeric::slab");  // it goes away
  }
}

template <class Scalar, class Space>
void DenseInverse<Scalar, Space>::numeric(const Space& space, const BlockValues<Scalar, Space>& values,
                                          Report& report) {
  State next;
  next.values = allocate<Vector<unsigned char, Space>>(space, "prekond::block::inverse", m_bytes);
  next.exponents = allocate<Vector<ScaleExponents, Space>>(
      space, "prekond::block::exponents", m_options.storage == Storage::full ? 0 : m_subdomains.num_places);
  const auto outcome = make_breakdown_counter<Space>(space, "prekond::block::numeric::outcome");
  const auto blocks = allocate_zero<Vector<int, Space>>(space, "prekond::block::numeric::blocks", 3);
  const bool small = m_subdomains.largest <=
                     (is_host_space<Space> ? DenseTuning::largest_unblocked : DenseTuning::largest_of_vector);
  if (small)
    invert<1>(space, values, next, outcome, blocks);
  else
    invert<DenseTuning::panel>(space, values, next, outcome, blocks);
  const BreakdownCounter counted = fetch(space, outcome);
  const auto counts = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, blocks);
  next.is_symmetric = counts(0) == 0;
  report.breakdowns = breakdowns_of(counted, "");
  if (report.breakdowns.count > 0) report.breakdowns.action = text_of_singular(counted, counts(1), counts(2));
  report.nnz = static_cast<std::int64_t>(m_squares);
  report.apply_flops = 2 * m_squares;
  report.numeric_flops = 2 * m_cubes;
  report.bytes = static_cast<std::int64_t>(m_bytes + m_slice_ptrs.span() * sizeof(std::size_t) +
                                           next.exponents.span() * sizeof(ScaleExponents));
  m_state = next;
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> DenseInverse<Scalar, Space>::make_workspace(const Space& space, int) const {
  if (m_subdomains.largest > DenseTuning::largest_of_row)
    reserve_team_scratch(space, ApplyBlocks<Scalar, Scalar, Space>::scratch_bytes(m_subdomains.largest));
  return std::make_unique<LayoutWorkspace>(m_subdomains.num_places, m_subdomains.largest);
}

template <class Scalar, class Space>
template <class Value>
void DenseInverse<Scalar, Space>::apply_as(const Space& space, const Transfer<Space>& transfer,
                                           MultiVectorView<const Scalar, Space> x,
                                           MultiVectorView<Scalar, Space> y) const {
  const DenseRows<Value, Scalar, Space> inverse{
      {m_slice_ptrs},
      VectorView<const Value, Space>(reinterpret_cast<const Value*>(m_state.values.data()),
                                     m_bytes / sizeof(Value)),
      m_state.exponents};
  if (m_subdomains.largest <= DenseTuning::largest_of_row) {
    Kokkos::parallel_for("prekond::block::apply::rows",
                         Kokkos::RangePolicy<Space>(space, 0, static_cast<int>(m_subdomains.num_places)),
                         ApplyRows<Value, Scalar, Space>{inverse, places_of(m_subdomains), transfer, x, y});
    return;
  }
  using Kernel = ApplyBlocks<Value, Scalar, Space>;
  const Kernel kernel{inverse, m_subdomains.ptrs, transfer, x, y, Kernel::scratch_for(m_subdomains.largest)};
  Kokkos::parallel_for("prekond::block::apply::blocks",
                       kernel.policy(space, static_cast<int>(m_subdomains.count()), m_subdomains.largest),
                       kernel);
}

template <class Scalar, class Space>
void DenseInverse<Scalar, Space>::apply(const Space& space, const Transfer<Space>& transfer,
                                        MultiVectorView<const Scalar, Space> x,
                                        MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  own_workspace<LayoutWorkspace>(workspace, m_subdomains.num_places, m_subdomains.largest, "local = dense");
  if (m_options.storage == Storage::full) return apply_as<Scalar>(space, transfer, x, y);
  if (m_options.storage == Storage::single_precision) return apply_as<float>(space, transfer, x, y);
  if (m_options.storage == Storage::half) return apply_as<Half>(space, transfer, x, y);
  apply_as<BFloat16>(space, transfer, x, y);
}

template <class Scalar, class Space>
Properties DenseInverse<Scalar, Space>::properties() const {
  return m_state.is_symmetric ? m_options.properties() : Properties{.symmetry = Symmetry::unknown};
}

#define PREKOND_DENSE_INVERSE(Scalar, Space) template class DenseInverse<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_DENSE_INVERSE)

}  // namespace prekond::impl::block
