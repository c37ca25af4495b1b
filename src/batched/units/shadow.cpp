// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/methods/shadow.hpp"
#include "batched/units/instances.hpp"

namespace prekond::impl::batched {

template <class Scalar, class Space>
void make_shadow(const Space& space, const Plan& plan, const Workspace<Scalar, Space>& workspace,
                 std::int64_t num_rows, int s) {
  const MakeShadow<Scalar> make{workspace.shadow.data(), static_cast<int>(num_rows), s};
  const Launcher<Scalar, Space> launcher(space, plan, workspace, 2);
  launcher.launch("prekond::batched::make_shadow", [&]<int Lanes>(const auto& teams) {
    return MakeShadows<Scalar, Space, Lanes>{teams, make};
  });
}

#define PREKOND_UNIT(Scalar, Space)                                                                    \
  template void make_shadow<Scalar, Space>(const Space&, const Plan&, const Workspace<Scalar, Space>&, \
                                           std::int64_t, int);
PREKOND_INSTANTIATE(PREKOND_UNIT)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_UNIT)

}  // namespace prekond::impl::batched
