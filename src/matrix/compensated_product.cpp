// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/compensated_product.hpp"

#include "core/instantiate.hpp"

namespace prekond {

namespace products = impl::products;

template <class Scalar, class Space>
void spmv_compensated(const Space& space, real_type_t<Scalar> alpha, const CsrView<Scalar, Space>& a,
                      MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                      MultiVectorView<Scalar, Space> y_low) {
  products::add_compensated_product<Scalar, Space>(space, alpha, products::CsrEntries<Scalar>(a), a.num_cols,
                                                   products::lanes_of(a.num_rows, a.nnz()), x, y, y_low);
}

namespace {

template <class Scalar, class Space>
products::SellEntries<Scalar, Space> entries_of(const SellView<Scalar, Space>& a) {
  return a;
}
template <class Scalar, class Space>
products::DiaEntries<Scalar> entries_of(const DiaView<Scalar, Space>& a) {
  return a;
}
template <class Scalar, class Space>
products::JadEntries<Scalar> entries_of(const JadView<Scalar, Space>& a) {
  return a;
}

}  // namespace

template <class Scalar, class Space, class FormatView>
void format_compensated(const Space& space, real_type_t<Scalar> alpha, const FormatView& a,
                        MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                        MultiVectorView<Scalar, Space> y_low) {
  products::add_compensated_product<Scalar, Space>(space, alpha, entries_of<Scalar, Space>(a), a.num_cols, 1,
                                                   x, y, y_low);
}

template <class Scalar, class Space>
void bcsr_compensated(const Space& space, real_type_t<Scalar> alpha,
                      const std::type_identity_t<BcsrView<Scalar, Space>>& a,
                      MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
                      MultiVectorView<Scalar, Space> y_low) {
  products::add_compensated_product<Scalar, Space>(space, alpha, products::BlockEntries<Scalar>(a),
                                                   a.num_cols(), 1, x, y, y_low);
}

#define PREKOND_FORMAT_COMPENSATED(View, Scalar, Space)                                                    \
  template void format_compensated<Scalar, Space, View<Scalar, Space>>(                                    \
      const Space&, real_type_t<Scalar>, const View<Scalar, Space>&, MultiVectorView<const Scalar, Space>, \
      MultiVectorView<Scalar, Space>, MultiVectorView<Scalar, Space>);
#define PREKOND_COMPENSATED(Scalar, Space)                                                                   \
  template void spmv_compensated<Scalar, Space>(                                                             \
      const Space&, real_type_t<Scalar>, const CsrView<Scalar, Space>&,                                      \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>, MultiVectorView<Scalar, Space>); \
  template void bcsr_compensated<Scalar, Space>(                                                             \
      const Space&, real_type_t<Scalar>, const std::type_identity_t<BcsrView<Scalar, Space>>&,               \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>, MultiVectorView<Scalar, Space>); \
  PREKOND_FORMAT_COMPENSATED(SellView, Scalar, Space)                                                        \
  PREKOND_FORMAT_COMPENSATED(DiaView, Scalar, Space)                                                         \
  PREKOND_FORMAT_COMPENSATED(JadView, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_COMPENSATED)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_COMPENSATED)

}  // namespace prekond
