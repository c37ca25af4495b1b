// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The launches of the ISAI's setup.
#include <prekond/precond/impl/isai_row.hpp>
#include <prekond/precond/impl/lu_rows.hpp>

namespace prekond::impl::isai {

using fsai::Unit;
using lu::Status;

/// A triangle's rows hold few entries, however long those of M are: as many lanes. In scratch while it fits.
inline constexpr fsai::UnitLimits triangle_units{64, 1 << 30};

/// Where the rows go.
template <class Scalar, class Space>
struct InverseRows {
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> values;
  VectorView<Outcome, Space> outcome;

  KOKKOS_FORCEINLINE_FUNCTION std::size_t begin(int i) const { return pattern.row_ptrs(i); }
  KOKKOS_FORCEINLINE_FUNCTION int length(int i) const {
    return static_cast<int>(pattern.row_ptrs(i + 1) - pattern.row_ptrs(i));
  }
  KOKKOS_FORCEINLINE_FUNCTION const int* cols(int i) const { return pattern.col_idxs.data() + begin(i); }

  /// Row i as it was solved or, where its result is `last`, the diagonal alone, at the place `own`.
  template <class Level, class SolvedRow>
  KOKKOS_FUNCTION void write(const Level& level, int i, int own, const SolvedRow& row,
                             const RowResult& result, double diagonal) const {
    const Scalar alone = static_cast<Scalar>(diagonal);
    const std::size_t first = begin(i);
    const int n = length(i);
    level.region([&](int lane) {
      for (int k = lane; k < n; k += level.size()) {
        if (!result.last)
          values(first + k) = static_cast<Scalar>(row.value(k));
        else
          values(first + k) = k != own ? Scalar(0) : (Kokkos::isfinite(alone) ? alone : Scalar(1));
      }
    });
    if (result.dropped) level.once([&] { Outcome::count(outcome(0), i, result.last, result.pivot); });
  }
};

/// Solves the rows of one bin of a general matrix.
template <class Scalar, class Real, class Space, Unit unit>
struct SolveGeneral : fsai::RowKernel<Space, unit> {
  using typename fsai::RowKernel<Space, unit>::Member;
  using typename fsai::RowKernel<Space, unit>::Level;
  using SolvedRow = GeneralRow<Scalar, Real, Space, Level>;

  CsrView<Scalar, Space> a;
  VectorView<const double, Space> row_scale;
  VectorView<const Scalar, Space> diagonal;
  InverseRows<Scalar, Space> inverse;
  std::size_t bytes;
  Real floor;
  Pivoting pivoting;
  VectorView<const int, Space> rows;
  VectorView<unsigned char, Space> status;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(Level(team), base, rows(k)); });
  }

  /// By the kernel's level, or by the threads of a host.
  template <class AnyLevel>
  KOKKOS_FUNCTION void do_row(const AnyLevel& level, char* base, int i) const {
    const GeneralRow<Scalar, Real, Space, AnyLevel> row(level, a, row_scale, base, inverse.length(i));
    const int own = static_cast<int>(inverse.pattern.first_from(i, i) - inverse.begin(i));
    const RowResult result = row.solve(inverse.cols(i), own, floor, pivoting);
    const bool last_try = pivoting == Pivoting::none;
    level.once([&] { status(i) = Status::of(result, last_try); });
    if (result.dropped && !last_try) return;
    inverse.write(level, i, own, row, result, diagonal(i) == 0 ? 1.0 : 1 / double(diagonal(i)));
  }
};

/// Solves the rows of one bin of a triangle.
template <class Scalar, class Space, Unit unit>
struct SolveTriangular : fsai::RowKernel<Space, unit> {
  using typename fsai::RowKernel<Space, unit>::Member;
  using typename fsai::RowKernel<Space, unit>::Level;
  using SolvedRow = TriangularRow<Scalar, Space, Level>;

  CsrView<Scalar, Space> a;
  Triangle triangle;
  InverseRows<Scalar, Space> inverse;
  std::size_t bytes;
  VectorView<int, Space> places;  ///< of a host thread num_rows; empty on a device
  VectorView<const int, Space> rows;
  VectorView<char, Space> workspaces;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, static_cast<std::int64_t>(rows.extent(0)), bytes, workspaces, next,
                   [&](char* base, std::int64_t k) { do_row(team, base, rows(k)); });
  }

  KOKKOS_FUNCTION void do_row(const Member& team, char* base, int i) const {
    const Level level(team);
    const int length = inverse.length(i);
    const std::size_t mine =
        static_cast<std::size_t>(a.num_rows) * static_cast<std::size_t>(team.league_rank());
    const SolvedRow row(level, a, triangle, base, length, this->host ? places.data() + mine : nullptr);
    const RowResult result = row.solve(inverse.cols(i));
    inverse.write(level, i, triangle.upper ? 0 : length - 1, row, result, row.diagonal());
  }
};

/// The setup's launches.
template <class Scalar, class Space>
class Setup {
 public:
  Setup(const Space& space, const CsrView<Scalar, Space>& a, std::int64_t slab_bytes, const std::string& name,
        MemoryMeter& meter)
      : m_space(space),
        m_a(a),
        m_slab_bytes(slab_bytes),
        m_name(name),
        m_meter(meter),
        m_outcome(allocate<Vector<Outcome, Space>>(space, "prekond::isai::numeric::outcome", 1)),
        m_next(allocate<Vector<int, Space>>(space, "prekond::isai::numeric::next", 1)) {
    m_held = m_meter.hold(m_outcome, m_next);
    Kokkos::deep_copy(m_space, m_outcome, no_outcome);
  }

  /// \throws InputError where the workspace of a row takes more than `slab_bytes`
  LongestRow check_rows(const CsrGraphView<Space>& pattern, bool general) {
    const LongestRow longest = longest_row<Space>(m_space, pattern.row_ptrs);
    const auto length = static_cast<int>(longest.length);
    check_slab(m_name, longest, general ? general_bytes<double>(length) : triangular_bytes(length),
               m_slab_bytes);
    return longest;
  }

  /// M's values for a general matrix. \pre check_rows
  void solve_general(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values, bool in_single) {
    const InverseRows<Scalar, Space> inverse{pattern, values, m_outcome};
    const auto sizes =
        lu::measure_rows<Scalar, Space>(m_space, m_a, "prekond::isai::numeric", /*with_magnitude=*/false);
    const auto status =
        allocate<Vector<unsigned char, Space>>(m_space, "prekond::isai::numeric::status", m_a.num_rows);
    const auto held = m_meter.hold(sizes.scale, sizes.diagonal, status);
    lu::solve_in_turn(in_single, [&](auto floor, Pivoting pivoting, bool again) {
      solve_general_rows(inverse, sizes, status, again, floor, pivoting);
    });
    m_space.fence("prekond::isai::numeric::solved");
  }

  /// M's values for a triangle of A. \pre check_rows
  void solve_triangular(const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
                        const Triangle& triangle) {
    const InverseRows<Scalar, Space> inverse{pattern, values, m_outcome};
    const std::int64_t threads = is_host_space<Space> ? m_space.concurrency() : 0;
    const auto places =
        allocate_zero<Vector<int, Space>>(m_space, "prekond::isai::numeric::places", threads * m_a.num_rows);
    const auto held = m_meter.hold(places);
    fsai::launch_bins<Space>(
        m_space, pattern.row_ptrs, {}, m_meter, [](int longest) { return triangular_bytes(longest); },
        [&](auto unit, VectorView<const int, Space> rows, int longest) {
          launch_triangular<decltype(unit)::value>(inverse, triangle, places, rows, longest);
        },
        triangle_units);
  }

  Outcome outcome() const { return fetch(m_space, m_outcome); }

 private:
  template <class Real>
  static std::size_t general_bytes(int longest) {
    return SolveGeneral<Scalar, Real, Space, Unit::slab>::SolvedRow::bytes(longest);
  }
  static std::size_t triangular_bytes(int longest) {
    return SolveTriangular<Scalar, Space, Unit::slab>::SolvedRow::bytes(longest);
  }

  template <class Real>
  void solve_general_rows(const InverseRows<Scalar, Space>& inverse, const lu::RowSizes<Scalar, Space>& sizes,
                          const Vector<unsigned char, Space>& status, bool again, Real floor,
                          Pivoting pivoting) {
    VectorView<const unsigned char, Space> chosen;
    if (again) chosen = status;
    fsai::launch_bins<Space>(
        m_space, inverse.pattern.row_ptrs, chosen, m_meter,
        [](int longest) { return general_bytes<Real>(longest); },
        [&](auto unit, VectorView<const int, Space> rows, int longest) {
          const std::size_t bytes = general_bytes<Real>(longest);
          const SolveGeneral<Scalar, Real, Space, decltype(unit)::value> kernel{
              {},    m_a,      sizes.scale, sizes.diagonal, inverse, bytes,
              floor, pivoting, rows,        status,         {},      m_next};
          launch(kernel, rows, longest, bytes);
        });
  }

  template <Unit unit>
  void launch_triangular(const InverseRows<Scalar, Space>& inverse, const Triangle& triangle,
                         VectorView<int, Space> places, VectorView<const int, Space> rows, int longest) {
    const std::size_t bytes = triangular_bytes(longest);
    const SolveTriangular<Scalar, Space, unit> kernel{{},     m_a,  triangle, inverse, bytes,
                                                      places, rows, {},       m_next};
    launch(kernel, rows, longest, bytes);
  }

  template <class Kernel>
  void launch(const Kernel& kernel, VectorView<const int, Space> rows, int longest, std::size_t bytes) {
    fsai::launch_rows(m_space, kernel, static_cast<std::int64_t>(rows.extent(0)), longest, bytes,
                      m_slab_bytes, "prekond::isai::numeric::solve_rows", m_meter);
  }

  Space m_space;
  CsrView<Scalar, Space> m_a;
  std::int64_t m_slab_bytes;
  std::string m_name;  ///< of the preconditioner
  MemoryMeter& m_meter;
  MemoryMeter::Holding m_held;
  Vector<Outcome, Space> m_outcome;
  Vector<int, Space> m_next;
};

}  // namespace prekond::impl::isai
