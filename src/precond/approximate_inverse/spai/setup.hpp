// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the static SPAI's setup.
#include <prekond/core/error.hpp>
#include "core/concurrency.hpp"

#include "precond/approximate_inverse/spai/gram.hpp"
#include "precond/approximate_inverse/spai/launcher.hpp"
#include "precond/approximate_inverse/spai/least_on_pattern.hpp"
#include "precond/approximate_inverse/spai/minimal.hpp"
#include "precond/approximate_inverse/spai/stream.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/setup/setup_time.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace prekond::impl::spai {

/// The setup's launches on the problem min ||B^T M - I||, whose columns of B^T are rows here.
template <class Scalar, class Space>
class Setup {
 public:
  static constexpr bool host = is_host_space<Space>;
  static constexpr bool streams = has_register_levels<Space>;
  static constexpr Tuning tuning = host ? host_tuning : device_tuning;

  /// `lists`: J of each column. `wanted`: see MatrixSource.
  Setup(const Space& space, const CsrView<Scalar, Space>& b, const CsrGraphView<Space>& lists,
        const VectorView<const unsigned char, Space>& wanted, const SpaiOptions& options,
        const std::string& name, const CostListener& listener)
      : m_space(space),
        m_b(b),
        m_lists(lists),
        m_options(options),
        m_name(name),
        m_listener(listener),
        m_scale(allocate<Vector<double, Space>>(space, "prekond::spai::numeric::col_scale", lists.num_rows)),
        m_n1(allocate<Vector<int, Space>>(space, "prekond::spai::numeric::n1", lists.num_rows)),
        m_status(
            allocate<Vector<unsigned char, Space>>(space, "prekond::spai::numeric::status", lists.num_rows)),
        m_outcome(make_breakdown_counter(space, "prekond::spai::numeric::outcome", wanted)),
        m_main(space, options.workspace_budget) {
    Kokkos::parallel_for("prekond::spai::numeric::scale_rows",
                         RowTeams<Space>::policy(space, lists.num_rows, b.nnz()),
                         ScaleRow<Scalar, Space>{b, m_scale});
  }

  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;
  /// Waits for kernels that an exception left running.
  ~Setup() {
    try {
      for (auto& launcher : m_beside) launcher->fence();
    } catch (...) {  // another exception is being thrown
    }
  }

  /// The values of M^T (of M where B is A^T) on the lists.
  void solve(VectorView<Scalar, Space> values) {
    find_longest();
    const bool in_single = m_options.setup_scalar == Precision::single_precision;
    if (!streams) {
      count_rows({});
      find_gram();
      tell_cost();
    }
    if (in_single)
      solve_all<float>(values);
    else
      solve_all<double>(values);
    if (in_single) stream_columns<double>(values, m_status);
    if (in_single || streams) solve_columns<double>(m_main, values, m_status, qr_floor<double>, true);
    measure();
    minimise_norms(values);
  }

  /// 2 n1 n2^2 - 2 n2^3 / 3 for each column, n2^3 / 3 for a long one.
  double flops() const {
    const auto squares = static_cast<double>(m_sums.n1_n2_n2), cubes = static_cast<double>(m_sums.n2_cubes);
    return 2 * squares - 2 * cubes / 3;
  }
  const BreakdownCounter& outcome() const { return m_found; }

 private:
  using RowsPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

  RowsPolicy rows_policy() const { return RowsPolicy(m_space, 0, m_lists.num_rows); }
  /// With e_k where `more` is 1.
  ColumnSizes<Space> sizes(int more = 0) const { return {m_n1, m_lists.row_ptrs, more}; }
  /// The floor of small systems, see floor_for.
  template <class Real>
  static constexpr Real qr_floor = sizeof(Real) == 4 ? Real(16 * 0x1p-23f) : Real(16 * 0x1p-52);

  /// The lists last as long as the setup: kernels of several launchers read them.
  const ColumnBins<Space>& bins_of(int more, VectorView<const unsigned char, Space> chosen,
                                   const Limits& limits = {}, unsigned char wanted = Status::again) {
    m_bins.push_back(bin_columns<Space>(m_space, sizes(more), chosen, wanted, limits));
    if (!m_beside.empty()) m_space.fence("prekond::spai::numeric::lists");
    return m_bins.back();
  }

  void find_longest() {
    Kokkos::parallel_reduce("prekond::spai::numeric::longest_column", rows_policy(),
                            LongestColumn<Space>{sizes()}, Kokkos::Max<int>(m_longest));
  }

  void measure() {
    Kokkos::parallel_reduce("prekond::spai::numeric::measure_columns", rows_policy(),
                            SumSizes<Space>{sizes(), m_longest_of_qr}, m_sums.n1_n2_n2, m_sums.n2_cubes,
                            Kokkos::Max<std::int64_t>(m_sums.largest));
  }

  /// Before the columns whose n1 is known are solved.
  void tell_cost() {
    measure();
    const double largest = 2 * static_cast<double>(m_sums.largest);
    m_listener(
        cost_note(m_space, m_name, {flops(), largest},
                  "a column's local system; the longest has " + std::to_string(m_longest) + " entries"));
  }

  /// n1 of the columns that wait for it.
  void count_rows(VectorView<const unsigned char, Space> chosen) {
    Kokkos::parallel_for("prekond::spai::numeric::bound_rows",
                         RowTeams<Space>::policy(m_space, m_lists.num_rows, m_lists.nnz()),
                         BoundRows<Space>{m_b, m_lists, chosen, m_n1});
    const ColumnBins<Space>& bins = bins_of(0, chosen);
    for (const Bin& bin : bins.bins) {
      const std::size_t bytes = FindArrays(nullptr, bin.n1, bin.n2).bytes;
      check_bytes(bytes, bin);
      const Launch launch = choose_launch(tuning, tuning.find, 32, bin.n1, bytes, bytes);
      dispatch<false>(launch.unit, [&](auto unit) {
        const CountRows<Scalar, Space, decltype(unit)::value> kernel{
            base_of<decltype(unit)::value>(bins, bin, bytes, 0), m_b, m_lists, m_n1};
        m_main.launch("prekond::spai::numeric::count_rows", kernel, launch.vectors);
      });
    }
  }

  /// Solves all columns: those of more than `longest_of_team` entries by their normal equations where these
  /// are accurate, the others by QR. Where they are streamed, columns that break down are left to another
  /// kernel, with their n1. Long columns, often few, have streams of the device besides that of the others.
  template <class Real>
  void solve_all(VectorView<Scalar, Space> values) {
    const bool last = sizeof(Real) == sizeof(double);
    if constexpr (!streams) {
      Kokkos::deep_copy(m_space, m_status, static_cast<unsigned char>(Status::again));
      solve_normal_equations(m_main, values);
      solve_columns<Real>(m_main, values, m_status, qr_floor<Real>, last);
    } else {
      std::int64_t num_long = 0;
      Kokkos::parallel_reduce("prekond::spai::numeric::mark_long", rows_policy(),
                              MarkLong<Space>{sizes(), longest_of_vector<Real>(), m_n1, m_status}, num_long);
      if (num_long > 0) {
        count_rows(m_status);
        find_gram();
        tell_cost();
        m_main.release_slab();
        const auto spaces = Kokkos::Experimental::partition_space(m_space, 1, 1, 1);
        // The longest take most memory, and wait for each other where that is short.
        for (std::size_t i = 0; i < spaces.size(); ++i)
          m_beside.push_back(std::make_unique<Launcher<Space>>(spaces[i], budget_beside(i)));
        solve_normal_equations(*m_beside[2], values);
      }
      stream_columns<Real>(values, {});
      for (auto& launcher : m_beside) launcher->fence();
      m_beside.clear();
    }
  }

  /// The slab of a stream besides the main one.
  std::int64_t budget_beside(std::size_t i) const {
    if (m_longest <= longest_of_team) return m_options.workspace_budget / 2;
    return i == 2 ? m_options.workspace_budget / 4 * 3 : m_options.workspace_budget / 8;
  }

  /// B B^T for the long columns, if there are any and the budget has room for it. Compiled in
  /// normal_equations.cpp, as is the next.
  void find_gram();
  /// The long columns whose status is `again`, where there is B B^T.
  void solve_normal_equations(Launcher<Space>& launcher, VectorView<Scalar, Space> values);

  static constexpr int longest_of_team = LargeTeams::longest;
  /// The longest column of a vector whose R fits in scratch.
  template <class Real>
  static int longest_of_vector() {
    int n2 = longest_of_vectors<Real>;
    while (StreamByVectors<Scalar, Real, Space, StreamShape<Unit::vector32, 4, 16>>::bytes(n2) >
           tuning.solve.team_scratch)
      --n2;
    return n2;
  }

  /// Columns of up to 511 entries; n1 of those of teams is known.
  template <class Real>
  void stream_columns(VectorView<Scalar, Space> values, VectorView<const unsigned char, Space> chosen) {
    if constexpr (streams) {
      const ColumnBins<Space>& bins =
          bins_of(1, chosen,
                  {{longest_of_vector<Real>() + 1, TinyTeams::longest + 1, SmallTeams<Real>::longest + 1,
                    MiddleTeams<Real>::longest + 1, longest_of_team + 1},
                   5});
      const StreamedColumns<Scalar, Real, Space> work{m_b,    m_scale,        m_lists, m_n1,
                                                      values, qr_floor<Real>, m_status};
      stream_by_teams<StreamByTeams<Scalar, Real, Space, LargeTeams>>(bins, 4, work);
      stream_by_teams<StreamByTeams<Scalar, Real, Space, MiddleTeams<Real>>>(bins, 3, work);
      stream_by_teams<StreamByTeams<Scalar, Real, Space, SmallTeams<Real>>>(bins, 2, work);
      stream_by_teams<StreamByTeams<Scalar, Real, Space, TinyTeams>>(bins, 1, work);
      for (const Bin& bin : bins.bins) {
        if (bin.group > 0) continue;
        dispatch_shape<Real>(bin.n2, [&](auto shape) {
          using Kernel = StreamByVectors<Scalar, Real, Space, decltype(shape)>;
          const std::size_t bytes = Kernel::bytes(bin.n2 - 1);
          check_bytes(bytes, bin, 1);
          const Kernel kernel{base_of<Kernel::unit>(bins, bin, bytes, 0), work};
          const auto fit = static_cast<int>(tuning.solve.team_scratch / bytes);
          m_main.launch("prekond::spai::numeric::stream_columns", kernel,
                        std::clamp(fit, 1, Kernel::lanes_of_team / Kernel::width));
        });
      }
    }
  }

  template <class Kernel, class Work>
  void stream_by_teams(const ColumnBins<Space>& bins, int group, const Work& work) {
    Launcher<Space>& launcher = m_beside.empty() ? m_main : *m_beside[group > 2 ? 1 : 0];
    const auto arrays_of = [](const Bin& bin) {
      return typename Kernel::Arrays(nullptr, nullptr, bin.n1, bin.n2 - 1);
    };
    for (const Bin& bin : joined_bins(bins, group, Kernel::teams * processors(), launcher.workspace_budget(),
                                      m_options.memory_budget, [&](const Bin& joined) {
                                        const auto arrays = arrays_of(joined);
                                        return arrays.near_bytes + arrays.far_bytes;
                                      })) {
      const auto arrays = arrays_of(bin);
      check_bytes(arrays.near_bytes + arrays.far_bytes, bin, 1);
      const Kernel kernel{base_of<Unit::apart>(bins, bin, arrays.near_bytes, arrays.far_bytes), work};
      launcher.launch("prekond::spai::numeric::stream_long_columns", kernel, Kernel::lanes / Kernel::width);
    }
  }

  std::int64_t processors() const { return std::max(1, concurrency(m_space) / tuning.lanes_of_processor); }

  /// \throws InputError
  void check_bytes(std::size_t bytes, const Bin& bin, int more = 0) const {
    if (bytes <= static_cast<std::size_t>(m_options.memory_budget)) return;
    throw InputError(
        m_name + ": a column with " + std::to_string(bin.n2 - more) + " entries has a local system" +
        (bin.n1 > 0 ? " of up to " + std::to_string(bin.n1) + " rows" : "") + ", which takes " +
        std::to_string(bytes) + " bytes; memory_budget = " + std::to_string(m_options.memory_budget) +
        " are allowed. Choose a smaller power, a prefilter, a pattern without that column, or more");
  }

  /// By the kernels that store the local matrix. Compiled in solve_columns.cpp.
  template <class Real>
  void solve_columns(Launcher<Space>& launcher, VectorView<Scalar, Space> values,
                     VectorView<const unsigned char, Space> chosen, Real floor, bool last_try);

  /// Gives the columns whose local systems are rank-deficient the solution of least norm, where
  /// `memory_budget` has room for it.
  void minimise_norms(VectorView<Scalar, Space> values) {
    m_found = fetch(m_space, m_outcome);
    if (m_found.pivots == 0) return;
    using Kernel = MinimiseNorms<Scalar, Space>;
    const auto bytes_of = [](const Bin& bin) {
      return typename Kernel::Arrays(nullptr, bin.n1, bin.n2).bytes;
    };
    const ColumnBins<Space>& bins = bins_of(0, m_status, {}, Status::shortened);
    for (const Bin& bin : joined_bins(bins, 0, 2 * processors(), m_main.workspace_budget(),
                                      m_options.memory_budget, bytes_of)) {
      const std::size_t bytes = bytes_of(bin);
      if (bytes > static_cast<std::size_t>(m_options.memory_budget)) continue;
      const Kernel kernel{base_of<Unit::slab>(bins, bin, bytes, 0), m_b, m_scale, m_lists, m_n1, values};
      m_main.launch_bin("prekond::spai::numeric::minimise_norms", kernel, host ? 1 : tuning.max_lanes / 32,
                        bin);
    }
  }

  template <Unit unit>
  ColumnKernel<Space, unit> base_of(const ColumnBins<Space>& bins, const Bin& bin, std::size_t near_bytes,
                                    std::size_t far_bytes) const {
    return {bins.columns_of(bin), near_bytes, far_bytes, {}, {}};
  }

  /// Calls launch(unit) with a std::integral_constant; a host has only slabs.
  template <bool every, class LaunchUnit>
  static void dispatch(Unit unit, const LaunchUnit& launch) {
    if constexpr (host) {
      launch(std::integral_constant<Unit, Unit::slab>());
    } else {
      switch (unit) {
        case Unit::vector8:
          if constexpr (every) return launch(std::integral_constant<Unit, Unit::vector8>());
          break;
        case Unit::vector16:
          if constexpr (every) return launch(std::integral_constant<Unit, Unit::vector16>());
          break;
        case Unit::apart:
          if constexpr (every) return launch(std::integral_constant<Unit, Unit::apart>());
          break;
        case Unit::vector32:
          return launch(std::integral_constant<Unit, Unit::vector32>());
        case Unit::team:
          return launch(std::integral_constant<Unit, Unit::team>());
        default:
          return launch(std::integral_constant<Unit, Unit::slab>());
      }
    }
  }

  Space m_space;
  CsrView<Scalar, Space> m_b;
  CsrGraphView<Space> m_lists;
  SpaiOptions m_options;
  std::string m_name;  ///< of the preconditioner
  CostListener m_listener;
  Vector<double, Space> m_scale;
  Vector<int, Space> m_n1;
  Vector<unsigned char, Space> m_status;
  Vector<BreakdownCounter, Space> m_outcome;
  Launcher<Space> m_main;
  std::vector<std::unique_ptr<Launcher<Space>>> m_beside;
  std::list<ColumnBins<Space>> m_bins;
  GramMatrices<Scalar, Space> m_gram;
  SizeSums m_sums;
  BreakdownCounter m_found{};
  int m_longest = 0;
  int m_longest_of_qr = std::numeric_limits<int>::max();  ///< with B B^T longest_of_team
};

}  // namespace prekond::impl::spai
