// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The solution of least norm of a rank-deficient local system.
#include "precond/approximate_inverse/spai/kernels.hpp"
#include "precond/scaling/power_of_two.hpp"

namespace prekond::impl::spai {

/// Replaces solutions x of min ||A(I, J) x - e|| by their projections P x on the span of A(I, J)'s rows: A(I,
/// J) maps x - P x to zero. The span comes from a QR of A(I, J)^T = Q R, and P x is Q (Q^T x) without the
/// entries of Q^T x beyond the rank. Columns of A(I, J) that have a value that is not finite do not count.
/// Where the columns' sizes differ by more than 2^20 the norm is that of the scaled unknowns, else the small
/// ones' share in the span would count as rounding.
///
/// Rows that depend on others leave some n2 eps, and there are many: the floor is 2^-40. It may take a row
/// for dependent that is not, and so x stays where A(I, J) does not map x - P x to zero, up to 2^-36.
template <class Scalar, class Space>
struct MinimiseNorms : ColumnKernel<Space, Unit::slab> {
  using Base = ColumnKernel<Space, Unit::slab>;
  using typename Base::LaneGroup;
  using typename Base::Member;
  using System = PanelQr<double, Base::host ? PanelQr<double>::host_rows : 1>;

  /// The rows of the system are J, its columns I.
  KOKKOS_FUNCTION static typename System::Shape shape(int n1, int n2) {
    return {n2, n1, (n1 + System::panel - 1) / System::panel, true};
  }

  struct Arrays {
    FindArrays find;
    int* rows;
    double* units;     ///< of the unknowns
    double* moved;     ///< x - P x
    double* products;  ///< A(I, J) (x - P x)
    int* accepted;
    char* system;
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int n1, int n2) : find(base, n1, n2) {
      bytes = find.bytes;
      rows = place_array<int>(base, bytes, power_of_two_from(static_cast<std::size_t>(n1)));
      units = place_array<double>(base, bytes, static_cast<std::size_t>(n2));
      moved = place_array<double>(base, bytes, static_cast<std::size_t>(n2));
      products = place_array<double>(base, bytes, static_cast<std::size_t>(n1));
      accepted = place_array<int>(base, bytes, 1);
      system = base ? base + bytes : nullptr;
      bytes += System::bytes(shape(n1, n2));
    }
  };

  CsrView<Scalar, Space> b;
  VectorView<const double, Space> col_scale;
  CsrGraphView<Space> lists;
  VectorView<const int, Space> n1;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char*, int k) { do_column(LaneGroup(team), near, nullptr, k); });
  }

  /// By the kernel's lane group, or by the threads of a host.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void do_column(const AnyLaneGroup& lane_group, char* near, char*, int k) const {
    const std::size_t begin = lists.row_ptrs(k);
    const int n2 = static_cast<int>(lists.row_ptrs(k + 1) - begin);
    const Arrays arrays(near, n1(k), n2);
    const ProblemColumns<Scalar, Space, AnyLaneGroup> problem(lane_group, b, n2, arrays.find.begins,
                                                              arrays.find.lengths);
    problem.read(lists.col_idxs.data() + begin, [&](int c, int col) { arrays.units[c] = col_scale(col); });
    choose_units(lane_group, arrays.units, n2);
    leave_out(lane_group, arrays.find, n2);
    const IndexTable table(arrays.find.table, arrays.find.table_size, arrays.find.count, arrays.rows);
    table.clear(lane_group);
    problem.for_entries(lists.num_rows,
                        [&](int, std::size_t, int index) { table.insert(lane_group, index); });
    const int num_rows = *arrays.find.count;
    sort_list(lane_group, arrays.rows, num_rows);
    const System system(arrays.system, shape(num_rows, n2));
    project(lane_group, problem, system, arrays, num_rows, begin, n2);
    multiply(lane_group, arrays, num_rows, n2);
    lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += lane_group.size())
        if (*arrays.accepted != 0 && arrays.find.lengths[c] > 0)
          values(begin + c) = static_cast<Scalar>(double(values(begin + c)) - arrays.moved[c]);
    });
  }

  /// x - P x
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void project(const AnyLaneGroup& lane_group,
                               const ProblemColumns<Scalar, Space, AnyLaneGroup>& problem,
                               const System& system, const Arrays& arrays, int num_rows, std::size_t begin,
                               int n2) const {
    system.clear(lane_group, 0, num_rows);
    problem.for_entries(lists.num_rows, [&](int c, std::size_t entry, int index) {
      system(c, find_in(arrays.rows, num_rows, index)) = double(b.values(entry)) * arrays.units[c];
    });
    scale_columns(lane_group, system, num_rows, n2);
    lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += lane_group.size())
        system.rhs(c) = double(values(begin + c)) / arrays.units[c];
    });
    const int rank = system.append(lane_group, 0, 0, num_rows, 0, 0x1p-40);
    lane_group.region([&](int lane) {
      for (int c = rank + lane; c < n2; c += lane_group.size()) system.rhs(c) = 0;
    });
    system.apply_q(lane_group, shape(num_rows, n2).panels, &system.rhs(0));
    lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += lane_group.size())
        arrays.moved[c] = double(values(begin + c)) - system.rhs(c) * arrays.units[c];
    });
  }

  /// A(I, J) (x - P x), column after column, and whether it is as good as zero.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void multiply(const AnyLaneGroup& lane_group, const Arrays& arrays, int num_rows,
                                int n2) const {
    lane_group.region([&](int lane) {
      for (int i = lane; i < num_rows; i += lane_group.size()) arrays.products[i] = 0;
    });
    for (int c = 0; c < n2; ++c)
      lane_group.region([&](int lane) {
        for (int e = lane; e < arrays.find.lengths[c]; e += lane_group.size()) {
          const std::size_t entry = arrays.find.begins[c] + static_cast<std::size_t>(e);
          const int index = b.col_idxs(entry);
          if (index >= lists.num_rows) break;
          arrays.products[find_in(arrays.rows, num_rows, index)] += double(b.values(entry)) * arrays.moved[c];
        }
      });
    if (lane_group.group() == 0) {
      const auto& vector = lane_group.vector();
      const double square = vector.template sum<double>([&](int lane) {
        double sum = 0;
        for (int i = lane; i < num_rows; i += vector.size()) sum += arrays.products[i] * arrays.products[i];
        return sum;
      });
      vector.once([&] { *arrays.accepted = square <= 0x1p-72; });  // not where it is not a number
    }
    lane_group.join();
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION static void choose_units(const AnyLaneGroup& lane_group, double* units, int n2) {
    lane_group.once([&] {
      double least = units[0], most = units[0];
      for (int c = 1; c < n2; ++c) {
        least = units[c] < least ? units[c] : least;
        most = units[c] > most ? units[c] : most;
      }
      if (most <= 0x1p20 * least)
        for (int c = 0; c < n2; ++c) units[c] = 1;
    });
  }

  /// Rows of B with a value that is not finite are read as empty ones.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void leave_out(const AnyLaneGroup& lane_group, const FindArrays& find, int n2) const {
    lane_group.region([&](int lane) {
      for (int c = lane; c < n2; c += lane_group.size())
        for (int e = 0; e < find.lengths[c]; ++e) {
          const std::size_t entry = find.begins[c] + static_cast<std::size_t>(e);
          if (b.col_idxs(entry) >= lists.num_rows) break;
          if (!Kokkos::isfinite(b.values(entry))) find.lengths[c] = 0;
        }
    });
  }

  /// By powers of two, which do not change their span, so that their squares are in range.
  template <class AnyLaneGroup>
  KOKKOS_FUNCTION static void scale_columns(const AnyLaneGroup& lane_group, const System& system,
                                            int num_rows, int n2) {
    lane_group.region([&](int lane) {
      for (int i = lane; i < num_rows; i += lane_group.size()) {
        double largest = 0;
        for (int c = 0; c < n2; ++c) {
          const double size = Kokkos::abs(system(c, i));
          if (size > largest) largest = size;
        }
        const double scale = largest > 0 ? inverse_power_of_two(largest) : 1.0;
        for (int c = 0; c < n2; ++c) system(c, i) *= scale;
      }
    });
  }
};

}  // namespace prekond::impl::spai
