// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/methods/shadow_vectors.hpp"
#include "batched/instances/instantiate_solves.hpp"

namespace prekond::impl::batched {

template <class Scalar, class Space>
void make_shadow_vectors(const Space& space, const LaunchConfig& config,
                         const Workspace<Scalar, Space>& workspace, std::int64_t num_rows, int s) {
  const MakeShadowVectors<Scalar> make{workspace.shadow.data(), static_cast<int>(num_rows), s};
  const Launcher<Scalar, Space> launcher(space, config, workspace, 2);
  launcher.launch("prekond::batched::make_shadow_vectors", [&]<int Lanes>(const auto& teams) {
    return MakeShadowVectorsKernel<Scalar, Space, Lanes>{teams, make};
  });
}

#define PREKOND_UNIT(Scalar, Space)                                                   \
  template void make_shadow_vectors<Scalar, Space>(const Space&, const LaunchConfig&, \
                                                   const Workspace<Scalar, Space>&, std::int64_t, int);
PREKOND_INSTANTIATE(PREKOND_UNIT)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_UNIT)

}  // namespace prekond::impl::batched
