// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Of the solutions of a rank-deficient local system the one of the least norm.
#include <prekond/precond/impl/spai_kernels.hpp>

namespace prekond::impl::spai {

/// Replaces solutions x of min ||A(I, J) x - e|| by their projections on the span of A(I, J)'s rows: what a
/// projection takes away A(I, J) maps to zero. The span comes from a QR of A(I, J)^T = Q R, and the
/// projection is Q (Q^T x) without what Q^T x has behind the rank. Columns of A(I, J) that have a value that
/// is not finite do not count.
template <class Scalar, class Space>
struct MinimiseNorms : ColumnKernel<Space, Unit::slab> {
  using Base = ColumnKernel<Space, Unit::slab>;
  using typename Base::Level;
  using typename Base::Member;
  using System = PanelQr<double, Base::host ? PanelQr<double>::host_rows : 1>;

  /// The rows of the system are J, its columns I.
  KOKKOS_FUNCTION static typename System::Shape shape(int n1, int n2) {
    return {n2, n1, (n1 + System::panel - 1) / System::panel, true};
  }

  struct Arrays {
    FindArrays find;
    int* rows;
    char* system;
    std::size_t bytes;

    KOKKOS_FUNCTION Arrays(char* base, int n1, int n2) : find(base, n1, n2) {
      bytes = find.bytes;
      rows = place<int>(base, bytes, power_of_two_from(static_cast<std::size_t>(n1)));
      system = base ? base + bytes : nullptr;
      bytes += System::bytes(shape(n1, n2));
    }
  };

  CsrView<Scalar, Space> b;
  CsrGraphView<Space> lists;
  VectorView<const int, Space> n1;
  VectorView<Scalar, Space> values;
  double floor;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_columns(team, [&](char* near, char*, int k) { do_column(Level(team), near, k); });
  }

  KOKKOS_FUNCTION void do_column(const Level& level, char* near, int k) const {
    const std::size_t begin = lists.row_ptrs(k);
    const int n2 = static_cast<int>(lists.row_ptrs(k + 1) - begin);
    const Arrays arrays(near, n1(k), n2);
    const ProblemColumns<Scalar, Space, Level> problem(level, b, n2, arrays.find.begins, arrays.find.lengths);
    problem.read(lists.col_idxs.data() + begin, [](int, int) {});
    leave_out(level, arrays.find, n2);
    const IndexTable table(arrays.find.table, arrays.find.table_size, arrays.find.count, arrays.rows);
    table.clear(level);
    problem.for_entries(lists.num_rows, [&](int, std::size_t, int index) { table.insert(level, index); });
    const int num_rows = *arrays.find.count;
    sort_list(level, arrays.rows, num_rows);
    const System system(arrays.system, shape(num_rows, n2));
    system.clear(level, 0, num_rows);
    problem.for_entries(lists.num_rows, [&](int c, std::size_t entry, int index) {
      system(c, find_in(arrays.rows, num_rows, index)) = double(b.values(entry));
    });
    scale_columns(level, system, num_rows, n2);
    level.region([&](int lane) {
      for (int c = lane; c < n2; c += level.size()) system.rhs(c) = double(values(begin + c));
    });
    const int rank = system.append(level, 0, 0, num_rows, 0, floor);
    level.region([&](int lane) {
      for (int c = rank + lane; c < n2; c += level.size()) system.rhs(c) = 0;
    });
    system.apply_q(level, shape(num_rows, n2).panels, &system.rhs(0));
    level.region([&](int lane) {
      for (int c = lane; c < n2; c += level.size())
        if (arrays.find.lengths[c] > 0 && Kokkos::isfinite(system.rhs(c)))
          values(begin + c) = static_cast<Scalar>(system.rhs(c));
    });
  }

  /// Rows of B with a value that is not finite are read as empty ones.
  KOKKOS_FUNCTION void leave_out(const Level& level, const FindArrays& find, int n2) const {
    level.region([&](int lane) {
      for (int c = lane; c < n2; c += level.size())
        for (int e = 0; e < find.lengths[c]; ++e)
          if (!Kokkos::isfinite(b.values(find.begins[c] + static_cast<std::size_t>(e)))) find.lengths[c] = 0;
    });
  }

  /// By powers of two, which do not change their span, so that their squares are in range.
  KOKKOS_FUNCTION static void scale_columns(const Level& level, const System& system, int num_rows, int n2) {
    level.region([&](int lane) {
      for (int i = lane; i < num_rows; i += level.size()) {
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
