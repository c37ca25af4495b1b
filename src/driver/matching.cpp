// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matching.hpp"

#include <prekond/core/error.hpp>
#include <prekond/pattern/permute.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include "problem.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// Diagonal entries that are missing, 0, not finite or weak, once rows and columns are equilibrated.
template <class Scalar>
std::int64_t count_weak(const Space& space, const Matrix<Scalar>& a) {
  Scaled<Scalar, Space> scaled(create_preconditioner<Scalar, Space>("none"), {ScalingKind::equilibrate});
  scaled.numeric(space, CsrView<Scalar, Space>(a));
  const auto row = scaled.row_scale(), column = scaled.column_scale();
  std::int64_t weak = 0;
  Kokkos::parallel_reduce(
      "prekond::driver::count_weak",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & count) {
        double diagonal = 0;
        for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
          if (a.col_idxs(k) == i) diagonal = row(i) * Kokkos::abs(a.values(k)) * column(i);
        count += !(diagonal >= weak_diagonal && Kokkos::isfinite(diagonal));
      },
      weak);
  return weak;
}

}  // namespace

std::string match_names() {
  return "none|auto|product";
}

void check_match(const Settings& settings) {
  const std::string& name = settings.match;
  if (name != "none" && name != "auto" && name != "product")
    settings.refuse("match", "--match= takes " + match_names() + ", not '" + name +
                                 "'; --match without a value is product");
}

template <class Scalar>
void match_problem(const Space& space, const std::string& name, Problem<Scalar>& problem) {
  MatchFacts& facts = problem.match;
  facts.name = name;
  facts.num_rows = problem.whole.num_rows;
  space.fence("prekond::driver::match");
  const Kokkos::Timer timer;
  if (name == "auto") {
    facts.looked = true;
    facts.weak = count_weak<Scalar>(space, problem.whole);
    if (facts.weak == 0) return;
  }
  const MatchedRows<Space> found = match_rows<Scalar, Space>(space, problem.whole);
  problem.whole = permute_rows<Scalar, Space>(space, problem.whole, found.rows);
  problem.matched_rows = found.rows;
  problem.row_scale = found.row_scale;
  problem.column_scale = found.matching.column_scale;
  take_rows<Scalar>(space, found.rows, problem.b);
  space.fence("prekond::driver::matched");
  facts.done = true;
  facts.seconds = timer.seconds();
  facts.rows_moved = found.rows_moved;
  facts.rank = found.matching.rank;
  facts.rows_on_host = found.matching.rows_on_host;
  facts.rounds = found.matching.rounds;
  facts.log_product = found.matching.log_product;
}

std::string match_text(const MatchFacts& facts) {
  if (!facts.done && !facts.looked) return "rows as they are: what is asked for needs a symmetric matrix";
  if (!facts.done)
    return concat("rows as they are: no entry of the scaled diagonal is below ", weak_diagonal);
  std::string text = concat(facts.rows_moved, " of ", facts.num_rows, " rows moved in ",
                            seconds_text(facts.seconds), ", log product ", facts.log_product);
  if (facts.rank < facts.num_rows)
    text += concat("; STRUCTURALLY SINGULAR: only ", facts.rank, " rows can be matched");
  return text;
}

template void match_problem<double>(const Space&, const std::string&, Problem<double>&);
template void match_problem<Complex>(const Space&, const std::string&, Problem<Complex>&);

}  // namespace prekond::driver
