// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Launches of sweep kernels.
#include "precond/factorization/par_ilu/sweep_kernels.hpp"
#include "precond/triangular/row_launches.hpp"

namespace prekond::impl::par_ilu {

/// Launches of the rows of a sweep, by lane groups whose width fits the mean row.
template <class Scalar, class Space>
struct SweepLaunch {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Space space;
  const SweepMatrix<Scalar, Space>& a;

  template <int lanes, template <class, class, class, class> class Row, class Entries, class... Arguments>
  void launch(const char* label, const Entries& entries, const Arguments&... arguments) const {
    using LaneGroup = NativeLaneGroup<Space, Member, lanes>;
    using Free = FreeRow<Row<Entries, Scalar, Space, LaneGroup>>;
    Launcher<Free, Space>(space, {{entries, arguments...}}).range(label, {}, 0, a.lower.num_rows);
  }

  template <template <class, class, class, class> class Row, class Entries, class... Arguments>
  void by_length(const char* label, const Entries& entries, const Arguments&... arguments) const {
    if constexpr (is_host_space<Space>) {
      launch<1, Row>(label, entries, arguments...);
    } else {
      if (a.lower.nnz() <= SweepTuning::short_rows * a.lower.num_rows)
        launch<SweepTuning::short_lanes, Row>(label, entries, arguments...);
      else
        launch<SweepTuning::long_lanes, Row>(label, entries, arguments...);
    }
  }

  template <template <class, class, class, class> class Row, class... Arguments>
  void run(const char* label, bool symmetric, const Arguments&... arguments) const {
    if (symmetric)
      by_length<Row>(label, IcEntries<Scalar, Space>{{a}}, arguments...);
    else
      by_length<Row>(label, IluEntries<Scalar, Space>{{a}}, arguments...);
  }
};

}  // namespace prekond::impl::par_ilu
