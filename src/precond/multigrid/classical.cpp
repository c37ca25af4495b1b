// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/classical.hpp"

#include "precond/multigrid/strength.hpp"

#include "core/instantiate.hpp"

namespace prekond::impl::amg {
namespace {

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
struct UnknownOfRow {
  VectorView<int, Space> unknown_of;
  int unknowns;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { unknown_of(i) = static_cast<int>(i % unknowns); }
};

template <class Space>
struct CoarseUnknown {
  VectorView<const int, Space> unknown_of;
  VectorView<const int, Space> coarse;
  VectorView<int, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t c) const { result(c) = unknown_of(coarse(c)); }
};

template <class Space>
std::int64_t bytes_of(const CoarseFine<Space>& points) {
  return static_cast<std::int64_t>((points.number.span() + points.coarse.span()) * sizeof(int));
}

}  // namespace

template <class Space>
std::int64_t ClassicalTransfer<Space>::bytes() const {
  return static_cast<std::int64_t>(unknown_of.span() * sizeof(int)) + strong.bytes() + bytes_of(points) +
         bytes_of(first) + to_first.bytes() + to_points.bytes() + product.bytes() + cut.bytes();
}

template <class Scalar, class Space>
ClassicalTransfer<Space> find_classical(const Space& space, const CsrView<Scalar, Space>& a,
                                        const Vector<int, Space>& unknown_of, const AmgOptions& options,
                                        bool aggressive) {
  ClassicalTransfer<Space> result;
  result.unknown_of = unknown_of;
  result.strong = strong_influences<Scalar, Space>(
      space, a, {.theta = options.strong_limit(false), .unknown_of = unknown_of});
  result.points = pmis<Space>(space, result.strong);
  if (!aggressive || result.points.count == 0) return result;
  result.first = result.points;
  result.points = pmis_of_coarse<Space>(space, result.strong, result.first);
  return result;
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> classical_prolongator(
    const Space& space, const CsrView<Scalar, Space>& a, const AmgOptions& options,
    ClassicalTransfer<Space>& transfer) {
  const int most = options.interpolation_limit();
  const auto of_a = influences<Scalar, Space>(space, a, transfer.strong, transfer.unknown_of);
  InterpolationTarget<Space> target{transfer.points};
  if (!transfer.is_aggressive())
    return interpolation<Scalar, Space>(space, of_a, target, most, transfer.to_points);
  const auto to_first = interpolation<Scalar, Space>(
      space, of_a, {.points = transfer.first, .is_numbered = false}, most, transfer.to_first);
  target.wanted = transfer.first.number;
  const auto to_points = interpolation<Scalar, Space>(space, of_a, target, most, transfer.to_points);
  const auto both = product_on<Scalar, Space>(space, to_first, to_points, transfer.product);
  const auto p = cut_rows<Scalar, Space>(space, both, most, transfer.cut);
  space.fence("prekond::amg::classical_prolongator");  // the factors go away
  return p;
}

template <class Space>
Vector<int, Space> unknowns_of_rows(const Space& space, std::int64_t num_rows, int unknowns) {
  if (unknowns == 1) return {};
  const auto result = allocate<Vector<int, Space>>(space, "prekond::amg::unknown_of", num_rows);
  Kokkos::parallel_for("prekond::amg::unknown_of", Range<Space>(space, 0, num_rows),
                       UnknownOfRow<Space>{result, unknowns});
  return result;
}

template <class Space>
Vector<int, Space> coarse_unknowns(const Space& space, const ClassicalTransfer<Space>& transfer) {
  if (transfer.unknown_of.extent(0) == 0) return {};
  const auto result = allocate<Vector<int, Space>>(space, "prekond::amg::unknown_of", transfer.count());
  Kokkos::parallel_for("prekond::amg::coarse_unknowns", Range<Space>(space, 0, transfer.count()),
                       CoarseUnknown<Space>{transfer.unknown_of, transfer.points.coarse, result});
  return result;
}

#define PREKOND_AMG_CLASSICAL(Scalar, Space)                                                            \
  template ClassicalTransfer<Space> find_classical<Scalar, Space>(                                      \
      const Space&, const CsrView<Scalar, Space>&, const Vector<int, Space>&, const AmgOptions&, bool); \
  template CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>                            \
  classical_prolongator<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, const AmgOptions&,  \
                                       ClassicalTransfer<Space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_CLASSICAL)
#define PREKOND_AMG_CLASSICAL_UNKNOWNS(Space)                                           \
  template struct ClassicalTransfer<Space>;                                             \
  template Vector<int, Space> unknowns_of_rows<Space>(const Space&, std::int64_t, int); \
  template Vector<int, Space> coarse_unknowns<Space>(const Space&, const ClassicalTransfer<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_AMG_CLASSICAL_UNKNOWNS)

}  // namespace prekond::impl::amg
