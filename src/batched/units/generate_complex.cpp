// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/units.hpp"
#include "instantiate.hpp"

namespace prekond::impl::batched {

#define PREKOND_GENERATE(Scalar, Format, Value, Space)           \
  template void generate_inverses<Scalar, Format<Value, Space>>( \
      const Space&, const GenerateTask<Scalar, Format<Value, Space>>&);
#define PREKOND_UNIT(Scalar, Space)                     \
  PREKOND_GENERATE(Scalar, BatchedCsr, Scalar, Space)   \
  PREKOND_GENERATE(Scalar, BatchedEll, Scalar, Space)   \
  PREKOND_GENERATE(Scalar, BatchedDense, Scalar, Space) \
  PREKOND_GENERATE(Scalar, BatchedBanded, Scalar, Space)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_UNIT)

}  // namespace prekond::impl::batched
