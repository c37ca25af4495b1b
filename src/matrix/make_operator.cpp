// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include "matrix/bcsr_operator.hpp"
#include "matrix/format_operator.hpp"

#include "core/instantiate.hpp"
#include "matrix/format_layouts.hpp"

namespace prekond {

template <class Scalar, class Space>
std::unique_ptr<Operator<Scalar, Space>> make_operator(
    const Space& space,
    const CsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>& a,
    MatrixFormat format, FormatAdvice* advice) {
  impl::formats::Found<Space> found;
  int block_size = 0;
  if (format == MatrixFormat::automatic) {
    const FormatAdvice given = impl::formats::advise_format<Space>(space, a, sizeof(Scalar), found,
                                                                   impl::formats::BlocksAre::allowed);
    if (advice != nullptr) *advice = given;
    format = given.format;
    block_size = given.block_size;
  }
  switch (format) {
    case MatrixFormat::sell:
      return std::make_unique<SellOperator<Scalar, Space>>(
          impl::formats::make_sell<Scalar, Space>(space, a, found));
    case MatrixFormat::dia:
      return std::make_unique<DiaOperator<Scalar, Space>>(
          impl::formats::make_dia<Scalar, Space>(space, a, found));
    case MatrixFormat::jad:
      return std::make_unique<JadOperator<Scalar, Space>>(make_jad<Scalar, Space>(space, a));
    case MatrixFormat::bcsr:
      if (block_size == 0) block_size = detect_block_size<Space>(space, a, sizeof(Scalar)).block_size;
      return std::make_unique<BcsrOperator<Scalar, Space>>(to_bcsr<Scalar, Space>(space, a, block_size));
    default:
      return std::make_unique<CsrOperator<Scalar, Space>>(a);
  }
}

#define PREKOND_MAKE_OPERATOR(Scalar, Space)                                                           \
  template std::unique_ptr<Operator<Scalar, Space>> make_operator<Scalar, Space>(                      \
      const Space&, const CsrMatrix<const Scalar, const int, const std::size_t, Space::memory_space>&, \
      MatrixFormat, FormatAdvice*);
PREKOND_INSTANTIATE(PREKOND_MAKE_OPERATOR)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_MAKE_OPERATOR)

}  // namespace prekond
