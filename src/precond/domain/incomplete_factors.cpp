// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/domain/incomplete_factors.hpp"

#include <prekond/core/error.hpp>
#include "matrix/filter_entries.hpp"

#include "core/instantiate.hpp"
#include "core/team_scratch.hpp"
#include "precond/domain/ilut_kernel.hpp"

#include <limits>
#include <type_traits>

namespace prekond::impl::block {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Options>
constexpr bool is_ilut = std::is_same_v<Options, LocalIlutOptions>;
template <class Options>
constexpr bool is_ic0 = std::is_same_v<Options, LocalIc0Options>;

/// Of a matrix whose values are places.
template <class Space>
struct IsLower {
  CsrView<std::size_t, Space> a;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const { return a.col_idxs(k) <= row; }
};

/// The first place whose diagonal entry is missing or not positive.
template <class Scalar, class Space>
struct FindBadDiagonal {
  CsrGraphView<Space> lower;
  VectorView<const std::size_t, Space> source;
  VectorView<const Scalar, Space> a;
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& first) const {
    const std::size_t end = lower.row_ptrs(k + 1);
    const bool found = end > lower.row_ptrs(k) && lower.col_idxs(end - 1) == k;
    const Scalar diagonal = found ? a(source(end - 1)) : Scalar(0);
    if (!(diagonal > 0 && Kokkos::isfinite(diagonal)) && rows(k) < first) first = rows(k);
  }
};

/// Operations of a factorisation on a pattern, about: of each entry of L, those of U's row that it is the
/// factor of.
template <class Space>
struct CountFlops {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const std::size_t, Space> middle;
  VectorView<const int, Space> col_idxs;
  bool symmetric;
  KOKKOS_FUNCTION void operator()(std::int64_t k, double& flops) const {
    for (std::size_t e = row_ptrs(k); e < middle(k); ++e) {
      const int j = col_idxs(e);
      flops +=
          2.0 * static_cast<double>(symmetric ? middle(j) - row_ptrs(j) : row_ptrs(j + 1) - middle(j)) + 1;
    }
  }
};

template <class Scalar, class Space>
struct WorkOfPlaces : LayoutWorkspace {
  using LayoutWorkspace::LayoutWorkspace;
  Vector<Scalar, Space> work;  ///< empty where blocks fit scratch
};

template <class Scalar, class Space>
Factors<Scalar, Space> view_of(const auto& state) {
  return {state.row_ptrs, state.middle, state.col_idxs, state.values, state.pivots};
}

/// ILUT's factors. Their memory is that of the most entries that rows may have, until they are packed.
template <class Scalar, class Space>
std::int64_t factor_ilut(const Space& space, const BlockValues<Scalar, Space>& values,
                         const LocalIlutOptions& options, VectorView<BreakdownCounter, Space> outcome,
                         auto& state) {
  const std::string label = "prekond::block::numeric::ilut";
  const Subdomains<Space>& subdomains = values.blocks.subdomains;
  const std::int64_t n = subdomains.num_places;
  const IlutRoom<Space> room{CsrGraphView<Space>(values.blocks.pattern), subdomains.ptrs,
                             subdomains.subdomain, options.fill};
  const auto [begin, most] = scan_row_lengths(space, label + "::room", n, room);
  const double bytes = double(most) * (sizeof(int) + sizeof(Scalar));
  if (bytes > double(options.factor_bytes))
    throw InputError("local = ilut: the factors may grow to " + std::to_string(most) + " entries of " +
                     std::to_string(sizeof(int) + sizeof(Scalar)) +
                     " bytes; local.factor_bytes = " + std::to_string(options.factor_bytes) +
                     " are allowed. Choose a smaller local.fill = " + std::to_string(options.fill) +
                     " or smaller blocks, or set local.factor_bytes = " +
                     std::to_string(most * (sizeof(int) + sizeof(Scalar))));
  const auto lower = allocate<Vector<int, Space>>(space, label + "::lower_length", n);
  const auto length = allocate<Vector<int, Space>>(space, label + "::length", n);
  const auto cols = allocate<Vector<int, Space>>(space, label + "::col_idxs", most);
  const auto entries = allocate<Vector<Scalar, Space>>(space, label + "::values", most);
  state.pivots = allocate<Vector<Scalar, Space>>(space, "prekond::block::pivots", n);
  const GrowingFactors<Scalar, Space> growing{begin, lower, length, cols, entries, state.pivots};
  const auto work = allocate_zero<Vector<Scalar, Space>>(space, label + "::work", n);
  const auto list = allocate<Vector<int, Space>>(space, label + "::list", n);
  using Body = IlutBlock<Scalar, Space>;
  const auto counts =
      allocate<Vector<int, Space>>(space, label + "::counts", 2 * Body::max_lanes * subdomains.count());
  ForBlocks<Space, IncompleteTuning::setup_lanes, Body>::launch(
      space, label.c_str(),
      Body{room, values.blocks.source, values.a, growing, subdomains.rows, work, list, counts, outcome,
           options.drop_tolerance},
      static_cast<int>(subdomains.count()));
  const auto [row_ptrs, nnz] = scan_row_lengths(space, label, n, VectorView<const int, Space>(length));
  state.row_ptrs = row_ptrs;
  state.middle = allocate<Vector<std::size_t, Space>>(space, "prekond::block::middle", n);
  state.col_idxs = allocate<Vector<int, Space>>(space, "prekond::block::col_idxs", nnz);
  state.values = allocate<Vector<Scalar, Space>>(space, "prekond::block::values", nnz);
  Kokkos::parallel_for(
      label + "::pack", Rows<Space>(space, 0, n),
      PackRows<Scalar, Space>{growing, state.row_ptrs, state.middle, state.col_idxs, state.values});
  space.fence("prekond::block::numeric::ilut");  // what it grew in goes away
  return static_cast<std::int64_t>((cols.span() + list.span() + lower.span() + length.span()) * sizeof(int) +
                                   (entries.span() + work.span()) * sizeof(Scalar) +
                                   begin.span() * sizeof(std::size_t));
}

}  // namespace

template <class Scalar, class Space, class Options>
IncompleteFactors<Scalar, Space, Options>::IncompleteFactors(const Options& options)
    : m_options(resolved(options)) {}

template <class Scalar, class Space, class Options>
IncompleteFactors<Scalar, Space, Options>::~IncompleteFactors() = default;

template <class Scalar, class Space, class Options>
void IncompleteFactors<Scalar, Space, Options>::symbolic(const Space& space,
                                                         const BlockValues<Scalar, Space>& values) {
  const DiagonalBlocks<Space>& blocks = values.blocks;
  m_subdomains = blocks.subdomains;
  if constexpr (is_ilut<Options>) return;
  m_pattern.row_ptrs = blocks.pattern.row_ptrs;
  m_pattern.col_idxs = blocks.pattern.col_idxs;
  m_source = blocks.source;
  if constexpr (is_ic0<Options>) {
    const std::int64_t n = blocks.pattern.num_rows;
    const CsrView<std::size_t, Space> all(n, n, blocks.pattern.row_ptrs, blocks.pattern.col_idxs,
                                          blocks.source);
    const auto lower = filter_entries<std::size_t, Space>(space, all, IsLower<Space>{all});
    m_pattern.row_ptrs = lower.row_ptrs;
    m_pattern.col_idxs = lower.col_idxs;
    m_source = lower.values;
  }
  CsrGraph<Space> pattern{blocks.pattern.num_rows, blocks.pattern.num_rows, m_pattern.row_ptrs,
                          m_pattern.col_idxs};
  m_pattern.middle = allocate<Vector<std::size_t, Space>>(space, "prekond::block::middle", pattern.num_rows);
  Kokkos::parallel_for("prekond::block::symbolic::middle", Rows<Space>(space, 0, pattern.num_rows),
                       FindMiddle<Space>{CsrGraphView<Space>(pattern), m_pattern.middle});
}

template <class Scalar, class Space, class Options>
std::int64_t IncompleteFactors<Scalar, Space, Options>::factor(
    const Space& space, const BlockValues<Scalar, Space>& values, State& state,
    VectorView<BreakdownCounter, Space> outcome) const {
  if constexpr (is_ilut<Options>) {
    return factor_ilut<Scalar, Space>(space, values, m_options, outcome, state);
  } else {
    const std::int64_t n = m_subdomains.num_places;
    state = m_pattern;
    state.values = allocate<Vector<Scalar, Space>>(space, "prekond::block::values", m_source.extent(0));
    state.pivots = allocate<Vector<Scalar, Space>>(space, "prekond::block::pivots", n);
    copy_values<Scalar, Space>(space, m_source, values.a, state.values);
    using Body = std::conditional_t<is_ic0<Options>, Ic0Block<Scalar, Space>, Ilu0Block<Scalar, Space>>;
    ForBlocks<Space, IncompleteTuning::setup_lanes, Body>::launch(
        space, is_ic0<Options> ? "prekond::block::numeric::ic0" : "prekond::block::numeric::ilu0",
        Body{view_of<Scalar, Space>(state), m_subdomains.ptrs, m_subdomains.rows, outcome},
        static_cast<int>(m_subdomains.count()));
    return 0;
  }
}

template <class Scalar, class Space, class Options>
void IncompleteFactors<Scalar, Space, Options>::numeric(const Space& space,
                                                        const BlockValues<Scalar, Space>& values,
                                                        Report& report) {
  const std::int64_t n = m_subdomains.num_places;
  if constexpr (is_ic0<Options>) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    std::int64_t first = none;
    const CsrGraph<Space> lower{n, n, m_pattern.row_ptrs, m_pattern.col_idxs};
    Kokkos::parallel_reduce(
        "prekond::block::numeric::find_bad_diagonal", Rows<Space>(space, 0, n),
        FindBadDiagonal<Scalar, Space>{CsrGraphView<Space>(lower), m_source, values.a, m_subdomains.rows},
        Kokkos::Min<std::int64_t>(first));
    if (first < none)
      throw InputError("local = ic0: the diagonal entry of row " + std::to_string(first + 1) +
                           " is missing or not positive; the matrix has to be symmetric positive definite",
                       first);
  }
  State next;
  const auto outcome = make_breakdown_counter<Space>(space, "prekond::block::numeric::outcome");
  report.setup_bytes = factor(space, values, next, outcome);
  report.breakdowns = breakdowns_of(fetch(space, outcome), "");
  if (report.breakdowns.count > 0)
    report.breakdowns.action =
        std::to_string(report.breakdowns.count) + " rows of the factors fell back to their diagonal entries";
  double flops = 0;
  Kokkos::parallel_reduce("prekond::block::numeric::count_flops", Rows<Space>(space, 0, n),
                          CountFlops<Space>{next.row_ptrs, next.middle, next.col_idxs, is_ic0<Options>},
                          flops);
  report.nnz = static_cast<std::int64_t>(next.col_idxs.extent(0)) + (is_ilut<Options> ? n : 0);
  report.numeric_flops = flops;
  report.apply_flops = (is_ic0<Options> ? 4.0 : 2.0) * double(report.nnz);
  report.bytes = static_cast<std::int64_t>(next.middle.span() * sizeof(std::size_t) +
                                           (next.values.span() + next.pivots.span()) * sizeof(Scalar));
  // ILU(0) has the blocks' own pattern and map.
  if (is_ic0<Options> || is_ilut<Options>)
    report.bytes += static_cast<std::int64_t>((next.row_ptrs.span() + m_source.span()) * sizeof(std::size_t) +
                                              next.col_idxs.span() * sizeof(int));
  m_state = next;
}

template <class Scalar, class Space, class Options>
std::unique_ptr<Workspace> IncompleteFactors<Scalar, Space, Options>::make_workspace(const Space& space,
                                                                                     int) const {
  using Kernel = SolveBlocks<Scalar, Space, 32, false>;
  auto workspace =
      std::make_unique<WorkOfPlaces<Scalar, Space>>(m_subdomains.num_places, m_subdomains.largest);
  if (Kernel::needs_work(m_subdomains.largest))
    workspace->work =
        allocate<Vector<Scalar, Space>>(space, "prekond::block::apply::work", m_subdomains.num_places);
  else
    reserve_team_scratch(space, Kernel::scratch_bytes(m_subdomains.largest, 1));
  return workspace;
}

template <class Scalar, class Space, class Options>
template <int Width>
void IncompleteFactors<Scalar, Space, Options>::solve(const Space& space, const Transfer<Space>& transfer,
                                                      MultiVectorView<const Scalar, Space> x,
                                                      MultiVectorView<Scalar, Space> y,
                                                      VectorView<Scalar, Space> work) const {
  using Kernel = SolveBlocks<Scalar, Space, Width, is_ic0<Options>>;
  const Kernel kernel{view_of<const Scalar, Space>(m_state),  m_subdomains.ptrs,   transfer, x, y, work,
                      static_cast<int>(m_subdomains.count()), m_subdomains.largest};
  Kokkos::parallel_for("prekond::block::apply::solve", kernel.policy(space), kernel);
}

template <class Scalar, class Space, class Options>
void IncompleteFactors<Scalar, Space, Options>::apply(const Space& space, const Transfer<Space>& transfer,
                                                      MultiVectorView<const Scalar, Space> x,
                                                      MultiVectorView<Scalar, Space> y,
                                                      Workspace& workspace) const {
  const auto& work =
      own_workspace<WorkOfPlaces<Scalar, Space>>(workspace, m_subdomains.num_places, m_subdomains.largest,
                                                 std::string("local = ") + Options::name)
          .work;
  const auto half_rows = static_cast<std::int64_t>(m_state.col_idxs.extent(0)) / (is_ic0<Options> ? 1 : 2);
  if constexpr (!is_host_space<Space>)
    if (half_rows <= IncompleteTuning::few_lanes * m_subdomains.num_places)
      return solve<IncompleteTuning::few_lanes>(space, transfer, x, y, work);
  (void)half_rows;
  solve<32>(space, transfer, x, y, work);
}

#define PREKOND_INCOMPLETE_FACTORS(Scalar, Space)                    \
  template class IncompleteFactors<Scalar, Space, LocalIlu0Options>; \
  template class IncompleteFactors<Scalar, Space, LocalIc0Options>;  \
  template class IncompleteFactors<Scalar, Space, LocalIlutOptions>;
PREKOND_INSTANTIATE(PREKOND_INCOMPLETE_FACTORS)

}  // namespace prekond::impl::block
