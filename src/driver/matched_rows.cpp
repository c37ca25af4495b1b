// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matched_rows.hpp"

#include <prekond/core/error.hpp>
#include <prekond/pattern/permute.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include "table.hpp"

namespace prekond::driver {
namespace {

using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

long long whole(std::int64_t value) {
  return static_cast<long long>(value);
}

/// Diagonal entries that are missing, 0, not finite or weak, once rows and columns are equilibrated.
template <class Scalar>
std::int64_t count_weak(const Space& space, const Matrix<Scalar>& a) {
  Scaled<Scalar, Space> scaled(create_preconditioner<Scalar, Space>("none"), {ScalingKind::equilibrate});
  scaled.numeric(space, CsrView<Scalar, Space>(a));
  const auto row = scaled.row_scale(), column = scaled.column_scale();
  std::int64_t weak = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::count_weak", Rows(space, 0, a.num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & count) {
        double diagonal = 0;
        for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
          if (a.col_idxs(k) == i) diagonal = row(i) * Kokkos::abs(a.values(k)) * column(i);
        count += !(diagonal >= weak_diagonal && Kokkos::isfinite(diagonal));
      },
      weak);
  return weak;
}

std::int64_t count_moved(const Space& space, const Vector<int, Space>& rows) {
  std::int64_t moved = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::count_moved", Rows(space, 0, rows.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & count) { count += rows(i) != i; }, moved);
  return moved;
}

}  // namespace

std::string match_names() {
  return "none|auto|product";
}

void check_match(const std::string& name) {
  if (name != "none" && name != "auto" && name != "product")
    throw OptionError("--match= takes " + match_names() + ", not '" + name + "'; --match alone is product");
}

template <class Scalar>
MatchedRows<Scalar> match_rows(const Space& space, const Matrix<Scalar>& a, const std::string& name) {
  MatchedRows<Scalar> result;
  result.a = a;
  result.facts.name = name;
  result.facts.num_rows = a.num_rows;
  space.fence("prekond::driver::match");
  const Kokkos::Timer timer;
  if (name == "auto") {
    result.facts.weak = count_weak<Scalar>(space, a);
    result.facts.looked = true;
    if (result.facts.weak == 0) return result;
  }
  const auto found = maximum_product_matching<Scalar, Space>(space, a);
  result.rows = make_ordering<Space>(space, found.column_of_row).inverse;
  result.a = permute_rows<Scalar, Space>(space, a, result.rows);
  result.row_scale = in_matched_rows<double>(space, result.rows, found.row_scale);
  result.column_scale = found.column_scale;
  MatchFacts& facts = result.facts;
  facts.rows_moved = count_moved(space, result.rows);
  space.fence("prekond::driver::matched");
  facts.done = true;
  facts.seconds = timer.seconds();
  facts.rank = found.rank;
  facts.rows_on_host = found.rows_on_host;
  facts.rounds = found.rounds;
  facts.log_product = found.log_product;
  return result;
}

template <class Scalar>
Vector<Scalar, Space> in_matched_rows(const Space& space, const Vector<int, Space>& rows,
                                      const Vector<Scalar, Space>& b) {
  if (rows.extent(0) == 0) return b;
  const auto y = allocate<Vector<Scalar, Space>>(space, "prekond::driver::in_matched_rows", b.extent(0));
  permute_vector<Scalar, Space>(space, Ordering<Space>{rows, rows}, as_multivector(b), as_multivector(y));
  space.fence("prekond::driver::in_matched_rows");  // before b goes away
  return y;
}

std::string match_text(const MatchFacts& facts) {
  if (!facts.done && !facts.looked) return "rows as they are: what is asked for needs a symmetric matrix";
  if (!facts.done)
    return format("rows as they are: no entry of the scaled diagonal is below %g", weak_diagonal);
  std::string text = format("%lld of %lld rows moved in %s, log product %.6g", whole(facts.rows_moved),
                            whole(facts.num_rows), seconds_text(facts.seconds).c_str(), facts.log_product);
  if (facts.rank < facts.num_rows)
    text += format("; STRUCTURALLY SINGULAR: only %lld rows can be matched", whole(facts.rank));
  return text;
}

#define PREKOND_DRIVER_MATCH(Scalar)                                                                        \
  template MatchedRows<Scalar> match_rows<Scalar>(const Space&, const Matrix<Scalar>&, const std::string&); \
  template Vector<Scalar, Space> in_matched_rows<Scalar>(const Space&, const Vector<int, Space>&,           \
                                                         const Vector<Scalar, Space>&);
PREKOND_DRIVER_MATCH(double)
PREKOND_DRIVER_MATCH(Complex)

}  // namespace prekond::driver
