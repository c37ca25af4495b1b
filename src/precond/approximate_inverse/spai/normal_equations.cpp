// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The launches for the static SPAI's long columns.
#include "precond/approximate_inverse/spai/normal_equations.hpp"

#include <prekond/sparse_product/spgemm.hpp>
#include "sparse_product/transpose.hpp"

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/spai/setup.hpp"

namespace prekond::impl::spai {

/// The pattern of B B^T, or none where it and its values take more than `most` bytes.
template <class Scalar, class Space>
CsrGraph<Space> gram_pattern(const Space& space, const GramMatrices<Scalar, Space>& matrices,
                             std::int64_t most, std::int64_t workspace_budget) {
  try {
    return product_pattern<Space>(space, CsrView<Scalar, Space>(matrices.b),
                                  CsrView<Scalar, Space>(matrices.transposed), most / 3, workspace_budget);
  } catch (const InputError&) {
    return {};
  }
}

template <class Scalar, class Space>
void Setup<Scalar, Space>::find_gram() {
  if (m_longest <= longest_of_team) return;
  using Teams = RowTeams<Space>;
  const std::int64_t n = m_b.num_rows;
  const RowsPolicy rows(m_space, 0, n);
  const auto needed = allocate_zero<Vector<int, Space>>(m_space, "prekond::spai::numeric::needed", n);
  Kokkos::parallel_for("prekond::spai::numeric::mark_needed", rows_policy(),
                       MarkNeeded<Space>{m_lists, longest_of_team, needed});
  const auto [row_ptrs, nnz] = scan_row_lengths(m_space, "prekond::spai::numeric::needed", n,
                                                NeededLength<Scalar, Space>{m_b, needed});
  GramMatrices<Scalar, Space> found;
  found.scale = allocate<Vector<double, Space>>(m_space, "prekond::spai::numeric::scale", m_lists.num_rows);
  found.b = {n, m_b.num_cols, row_ptrs,
             allocate<Vector<int, Space>>(m_space, "prekond::spai::numeric::needed::col_idxs", nnz),
             allocate<Vector<Scalar, Space>>(m_space, "prekond::spai::numeric::needed::values", nnz)};
  Kokkos::parallel_for("prekond::spai::numeric::scale_needed", rows,
                       ScaleNeeded<Scalar, Space>{m_b, m_scale, found.b, found.scale});
  found.transposed = transpose<Scalar, Space>(m_space, found.b);
  const CsrGraph<Space> pattern =
      gram_pattern<Scalar, Space>(m_space, found, m_options.memory_budget, m_options.workspace_budget);
  if (pattern.num_rows == 0) return;  // QR needs no B B^T
  const auto values = allocate<Vector<double, Space>>(m_space, "prekond::spai::numeric::gram", pattern.nnz());
  found.gram = {n, n, pattern.row_ptrs, pattern.col_idxs, values};
  Kokkos::parallel_for("prekond::spai::numeric::fill_gram",
                       Teams::policy(m_space, n, static_cast<std::int64_t>(pattern.nnz())),
                       FillGram<Scalar, Space>{found.b, found.gram, values, {n}});
  m_space.fence("prekond::spai::numeric::gram");
  m_gram = found;
  m_longest_of_qr = longest_of_team;
}

template <class Scalar, class Space>
void Setup<Scalar, Space>::solve_normal_equations(Launcher<Space>& launcher,
                                                  VectorView<Scalar, Space> values) {
  using Kernel = SolveNormalEquations<Scalar, Space>;
  if (m_longest_of_qr > longest_of_team) return;
  // The classes between them would take up to twice the memory that most of their columns need.
  const Limits limits{{longest_of_team, 640, 1280}, 3};
  const ColumnBins<Space>& bins = bins_of(0, m_status, limits);
  const auto bytes_of = [](const Bin& bin) { return NormalArrays(nullptr, bin.n1, bin.n2).bytes; };
  for (int group = limits.count; group > 0; --group)
    for (const Bin& bin : joined_bins(bins, group, 2 * processors(), launcher.workspace_budget(),
                                      m_options.memory_budget, bytes_of)) {
      const std::size_t bytes = bytes_of(bin);
      if (bytes > static_cast<std::size_t>(m_options.memory_budget)) continue;
      const Kernel kernel{base_of<Unit::slab>(bins, bin, bytes, 0),
                          m_gram.b,
                          m_gram.transposed,
                          m_gram.gram,
                          m_gram.scale,
                          m_lists,
                          m_n1,
                          values,
                          m_status};
      launcher.launch_bin("prekond::spai::numeric::solve_normal_equations", kernel,
                          bin.n2 > Kernel::longest_of_small_team ? 16 : 8, bin);
    }
}

#define PREKOND_NORMAL_EQUATIONS(Scalar, Space)    \
  template void Setup<Scalar, Space>::find_gram(); \
  template void Setup<Scalar, Space>::solve_normal_equations(Launcher<Space>&, VectorView<Scalar, Space>);
PREKOND_INSTANTIATE(PREKOND_NORMAL_EQUATIONS)

}  // namespace prekond::impl::spai
