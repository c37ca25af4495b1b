// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the static SPAI's setup.
#include <prekond/core/error.hpp>
#include <prekond/precond/impl/spai_kernels.hpp>

#include <algorithm>
#include <string>

namespace prekond::impl::spai {

/// The setup's launches on the problem min ||B^T M - I||, whose columns of B^T are rows here.
template <class Scalar, class Space>
class Setup {
 public:
  static constexpr bool host = is_host_space<Space>;
  static constexpr Tuning tuning = host ? host_tuning : device_tuning;

  /// `lists`: J of each column.
  Setup(const Space& space, const CsrView<Scalar, Space>& b, const CsrGraphView<Space>& lists,
        const SpaiOptions& options, const std::string& name, MemoryMeter& meter)
      : m_space(space),
        m_b(b),
        m_lists(lists),
        m_options(options),
        m_name(name),
        m_meter(meter),
        m_scale(allocate<Vector<double, Space>>(space, "prekond::spai::numeric::col_scale", lists.num_rows)),
        m_n1(allocate<Vector<int, Space>>(space, "prekond::spai::numeric::n1", lists.num_rows)),
        m_status(
            allocate<Vector<unsigned char, Space>>(space, "prekond::spai::numeric::status", lists.num_rows)),
        m_outcome(allocate<Vector<Outcome, Space>>(space, "prekond::spai::numeric::outcome", 1)),
        m_next(allocate<Vector<int, Space>>(space, "prekond::spai::numeric::next", 1)) {
    m_held = m_meter.hold(m_scale, m_n1, m_status, m_outcome, m_next);
    Kokkos::deep_copy(m_space, m_outcome, no_outcome);
    Kokkos::parallel_for("prekond::spai::numeric::scale_rows", rows_policy(),
                         ScaleRow<Scalar, Space>{b, m_scale});
  }

  /// The first stage: n1 and n2 of each column, and with them the strategy.
  void count_rows() {
    Kokkos::parallel_for("prekond::spai::numeric::bound_rows", rows_policy(),
                         BoundRows<Scalar, Space>{m_b, m_lists, m_n1});
    const ColumnBins<Space> bins = bins_of({});
    const auto held = m_meter.hold(bins.columns);
    for (const Bin& bin : bins.bins) {
      const std::size_t bytes = FindArrays(nullptr, bin.n1, bin.n2).bytes;
      check_bytes(bytes, bin);
      const Launch launch = choose_launch(tuning, tuning.find, 32, bin.n1, false, bytes, bytes);
      dispatch<false>(launch.unit, [&](auto unit) {
        const CountRows<Scalar, Space, decltype(unit)::value> kernel{
            base_of<decltype(unit)::value>(bins, bin, bytes, 0), m_b, m_lists, m_n1};
        launch_columns("prekond::spai::numeric::count_rows", kernel, launch.vectors);
      });
    }
    measure();
  }

  /// The other stages, up to the values of M^T (M where B is A^T) on the lists.
  void solve(VectorView<Scalar, Space> values) {
    const bool in_single = m_options.setup_scalar == Precision::single_precision;
    const bool normal = m_options.solve == LeastSquares::normal;
    // The residual exceeds the least by some n2 eps / floor: 1e-4 and 1e-10 of 100 unknowns.
    if (normal && in_single) solve_columns<float, LeastSquares::normal>(values, {}, 0x1p-4f, false);
    if (normal && !in_single) solve_columns<double, LeastSquares::normal>(values, {}, 0x1p-14, false);
    if (!normal && in_single) solve_columns<float, LeastSquares::qr>(values, {}, 16 * 0x1p-23f, false);
    const VectorView<const unsigned char, Space> again = m_status;
    const bool last = !normal && !in_single;
    solve_columns<double, LeastSquares::qr>(values, last ? VectorView<const unsigned char, Space>() : again,
                                            16 * 0x1p-52, true);
  }

  const Choice& choice() const { return m_choice; }
  std::string note() const {
    return strategy_note(m_choice, m_options.strategy, m_sums.n2_max, n2_average());
  }
  /// 2 n1 n2^2 - 2 n2^3 / 3 for each column, or n1 n2^2 + n2^3 / 3.
  double flops() const {
    const auto squares = static_cast<double>(m_sums.n1_n2_n2), cubes = static_cast<double>(m_sums.n2_cubes);
    return m_options.solve == LeastSquares::normal ? squares + cubes / 3 : 2 * squares - 2 * cubes / 3;
  }
  Outcome outcome() const { return fetch(m_space, m_outcome); }
  int fences() const { return m_fences; }

 private:
  using RowsPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

  RowsPolicy rows_policy() const { return RowsPolicy(m_space, 0, m_lists.num_rows); }
  ColumnSizes<Space> sizes() const { return {m_n1, m_lists.row_ptrs}; }
  double n2_average() const {
    return static_cast<double>(m_lists.nnz()) / static_cast<double>(m_lists.num_rows);
  }

  ColumnBins<Space> bins_of(VectorView<const unsigned char, Space> chosen) {
    ColumnBins<Space> bins = bin_columns<Space>(m_space, sizes(), chosen, m_meter);
    m_fences += bins.fences;
    return bins;
  }

  void measure() {
    Kokkos::parallel_reduce("prekond::spai::numeric::measure_columns", rows_policy(),
                            SumSizes<Space>{sizes()}, Kokkos::Max<std::int64_t>(m_sums.n1_max),
                            Kokkos::Max<std::int64_t>(m_sums.n2_max), m_sums.n1_n2_n2, m_sums.n2_cubes);
    ++m_fences;
    m_choice = choose_strategy(m_options.strategy, m_sums.n2_max, n2_average());
  }

  /// \throws InputError
  void check_bytes(std::size_t bytes, const Bin& bin) const {
    if (bytes <= static_cast<std::size_t>(m_options.column_bytes)) return;
    throw InputError(
        m_name + ": a column with " + std::to_string(bin.n2) + " entries has a local system of up to " +
        std::to_string(bin.n1) + " rows, which takes " + std::to_string(bytes) +
        " bytes; column_bytes = " + std::to_string(m_options.column_bytes) +
        " are allowed. Choose a smaller power, a prefilter, a pattern without that column, or more");
  }

  template <class Real, LeastSquares Solver>
  void solve_columns(VectorView<Scalar, Space> values, VectorView<const unsigned char, Space> chosen,
                     Real floor, bool last_try) {
    using Arrays = ColumnArrays<Real, host ? PanelQr<Real>::host_rows : 1, Solver>;
    const ColumnBins<Space> bins = bins_of(chosen);
    const auto held = m_meter.hold(bins.columns);
    const bool constant = m_choice.strategy == Strategy::constant;
    for (const Bin& bin : bins.bins) {
      const Arrays together(nullptr, nullptr, bin.n1, bin.n2, Placement::together);
      const Arrays apart(nullptr, nullptr, bin.n1, bin.n2, Placement::apart);
      check_bytes(together.near_bytes, bin);
      const int lanes = group_size(tuning, constant ? static_cast<int>(m_sums.n2_max) : bin.n2);
      const Launch launch = choose_launch(tuning, tuning.solve, lanes, bin.n1, !constant, together.near_bytes,
                                          host ? together.near_bytes : apart.near_bytes);
      const Arrays& arrays = launch.unit == Unit::apart ? apart : together;
      dispatch<true>(launch.unit, [&](auto unit) {
        const SolveColumns<Scalar, Real, Space, decltype(unit)::value, Solver> kernel{
            base_of<decltype(unit)::value>(bins, bin, arrays.near_bytes, arrays.far_bytes),
            m_b,
            m_scale,
            m_lists,
            m_n1,
            values,
            floor,
            last_try,
            m_status,
            m_outcome};
        launch_columns("prekond::spai::numeric::solve_columns", kernel, launch.vectors);
      });
    }
  }

  template <Unit unit>
  ColumnKernel<Space, unit> base_of(const ColumnBins<Space>& bins, const Bin& bin, std::size_t near_bytes,
                                    std::size_t far_bytes) const {
    return {bins.columns_of(bin), near_bytes, far_bytes, {}, m_next};
  }

  /// Calls launch(unit) with a std::integral_constant; a host has slabs alone.
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

  template <class Kernel>
  void launch_columns(const char* label, Kernel kernel, int vectors) {
    using Policy = typename Kernel::Policy;
    const auto count = static_cast<std::int64_t>(kernel.columns.extent(0));
    int league = 0;
    if constexpr (Kernel::has_slab) {
      const std::size_t bytes = Kernel::unit == Unit::apart ? kernel.far_bytes : kernel.near_bytes;
      const auto affordable = std::max<std::int64_t>(
          1, m_options.slab_bytes / static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)));
      const std::int64_t useful = std::max(1, m_space.concurrency() / (vectors * Kernel::width));
      league = static_cast<int>(std::min({count, useful, host ? useful : affordable}));
      kernel.slab = slab_of(bytes * static_cast<std::size_t>(league));
      Kokkos::deep_copy(m_space, kernel.next, 0);
    } else {
      const int in_team = Kernel::of_team ? 1 : vectors;
      league = static_cast<int>((count + in_team - 1) / in_team);
    }
    auto policy = Policy(m_space, league, host ? 1 : vectors, Kernel::width);
    if constexpr (Kernel::has_scratch) {
      const int in_team = Kernel::of_team ? 1 : vectors;
      policy.set_scratch_size(
          0, Kokkos::PerTeam(static_cast<int>(kernel.near_bytes * static_cast<std::size_t>(in_team) + 16)));
    }
    Kokkos::parallel_for(label, policy, kernel);
  }

  /// The slab, larger where it has to be: the first bins need most.
  VectorView<char, Space> slab_of(std::size_t bytes) {
    if (m_slab.extent(0) < bytes) {
      m_space.fence("prekond::spai::numeric::slab");
      ++m_fences;
      m_held_slab = {};
      m_slab = {};
      m_slab = allocate<Vector<char, Space>>(m_space, "prekond::spai::numeric::slab", bytes);
      m_held_slab = m_meter.hold(m_slab);
    }
    return m_slab;
  }

  Space m_space;
  CsrView<Scalar, Space> m_b;
  CsrGraphView<Space> m_lists;
  SpaiOptions m_options;
  std::string m_name;  ///< of the preconditioner
  MemoryMeter& m_meter;
  MemoryMeter::Holding m_held, m_held_slab;
  Vector<double, Space> m_scale;
  Vector<int, Space> m_n1;
  Vector<unsigned char, Space> m_status;
  Vector<Outcome, Space> m_outcome;
  Vector<int, Space> m_next;
  Vector<char, Space> m_slab;
  SizeSums m_sums;
  Choice m_choice{Strategy::constant, 0, 0};
  int m_fences = 0;
};

}  // namespace prekond::impl::spai
