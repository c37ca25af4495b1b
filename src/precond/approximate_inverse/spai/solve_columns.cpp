// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The launches of the static SPAI's kernels that store the local matrix.
#include "core/instantiate.hpp"
#include "precond/approximate_inverse/spai/setup.hpp"

namespace prekond::impl::spai {

template <class Scalar, class Space>
template <class Real>
void Setup<Scalar, Space>::solve_columns(Launcher<Space>& launcher, VectorView<Scalar, Space> values,
                                         VectorView<const unsigned char, Space> chosen, Real floor,
                                         bool last_try) {
  using Arrays = ColumnArrays<Real, host ? PanelQr<Real>::host_rows : 1>;
  const ColumnBins<Space>& bins = bins_of(0, chosen);
  for (const Bin& bin : bins.bins) {
    const Arrays together(nullptr, nullptr, bin.n1, bin.n2, Placement::together);
    const Arrays apart(nullptr, nullptr, bin.n1, bin.n2, Placement::apart);
    check_bytes(together.near_bytes, bin);
    const Launch launch = choose_launch(tuning, tuning.solve, group_size(tuning, bin.n2), bin.n1,
                                        together.near_bytes, host ? together.near_bytes : apart.near_bytes);
    const Arrays& arrays = launch.unit == Unit::apart ? apart : together;
    dispatch<true>(launch.unit, [&](auto unit) {
      const SolveColumns<Scalar, Real, Space, decltype(unit)::value> kernel{
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
      launcher.launch_bin("prekond::spai::numeric::solve_columns", kernel, launch.vectors, bin);
    });
  }
}

#define PREKOND_SOLVE_COLUMNS_IN(Real, Scalar, Space)      \
  template void Setup<Scalar, Space>::solve_columns<Real>( \
      Launcher<Space>&, VectorView<Scalar, Space>, VectorView<const unsigned char, Space>, Real, bool);
#define PREKOND_SOLVE_COLUMNS(Scalar, Space)     \
  PREKOND_SOLVE_COLUMNS_IN(float, Scalar, Space) \
  PREKOND_SOLVE_COLUMNS_IN(double, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_SOLVE_COLUMNS)

}  // namespace prekond::impl::spai
