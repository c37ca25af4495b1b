// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "peers/cusparse_spgemm.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/precond/amg.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "matrix/elasticity3d_coordinates.hpp"

#include "precond/multigrid/hierarchy.hpp"

#ifdef PREKOND_HAS_KOKKOSKERNELS
#include <prekond/adapters/kokkoskernels_spgemm.hpp>
#endif

#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// The sparse products of a multigrid setup, A P and P^T (A P) of the finest level, and A A: perf_spgemm
/// --matrix=poisson3d:60 [--products=A_P,R_AP,A_A] [--repetitions=5]. elasticity3d has three unknowns a node
/// and rigid body modes.
///
/// `spgemm` finds pattern and values, `pattern` only the pattern, `values` the values on a pattern that is
/// known, and `block_values` likewise by whole blocks, where there are. Kokkos Kernels' and cuSPARSE's
/// products, which find both, are timed where the build has them. Times are fenced, with every allocation.
/// `products` are those of entries, 2 operations each.
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
using View = CsrView<double, Space>;
using Hierarchy = impl::amg::Hierarchy<double, Space>;

struct Operands {
  View a, b;
  ProductBlocks blocks;
  Matrix c;
  std::int64_t products = 0;
};

struct Problem {
  Matrix a;
  MultiVector<double, Space> modes;
  std::unique_ptr<Hierarchy> hierarchy;
};

template <class Space>
struct CountProducts {
  CsrView<double, Space> a, b;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
      count += static_cast<std::int64_t>(b.row_ptrs(a.col_idxs(k) + 1) - b.row_ptrs(a.col_idxs(k)));
  }
};

std::shared_ptr<Operands> operands(const View& a, const View& b, const ProductBlocks& blocks) {
  auto result = std::make_shared<Operands>(Operands{a, b, blocks, spgemm<double, Space>(Space(), a, b), 0});
  Kokkos::parallel_reduce("perf::count_products",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(Space(), 0, a.num_rows),
                          CountProducts<Space>{a, b}, result->products);
  return result;
}

std::shared_ptr<Problem> problem_of(const std::string& name) {
  auto result = std::make_shared<Problem>();
  result->a = generate<double, Space>(Space(), name);
  MatrixSource<double, Space> source(result->a);
  if (name.rfind("elasticity3d", 0) == 0) {
    source.set_unknowns_per_node(3);
    result->modes = rigid_body_modes<double, Space>(
        Space(), elasticity3d_coordinates<Space>(Space(), result->a.num_rows));
    source.set_near_null_space(result->modes);
  }
  AmgOptions options;
  options.max_levels = 2;
  Report report;
  result->hierarchy = std::make_unique<Hierarchy>(Space(), options, source, nullptr, report);
  return result;
}

void add_product(const std::string& label, int repetitions, const std::shared_ptr<Operands>& of) {
  const auto add = [&](const std::string& what, const std::function<void()>& f) {
    perf::add(what + "/" + label, repetitions, [=](benchmark::State& state) {
      const double time = perf::seconds(Space(), f);
      state.counters["nnz"] = double(of->c.nnz());
      state.counters["products"] = double(of->products);
      state.counters["gflops"] = 2e-9 * double(of->products) / time;
      return time;
    });
  };
  const Space space;
  constexpr std::int64_t any = std::int64_t(1) << 40, slab = std::int64_t(256) << 20;
  add("spgemm", [=] { spgemm<double, Space>(space, of->a, of->b); });
  add("pattern", [=] { product_pattern<Space>(space, of->a, of->b, any, slab); });
  add("values", [=] { spgemm_values<double, Space>(space, of->a, of->b, of->c); });
  if (of->blocks.cols > 1)
    add("block_values", [=] { spgemm_values<double, Space>(space, of->a, of->b, of->c, of->blocks); });
#ifdef PREKOND_HAS_KOKKOSKERNELS
  add("kokkos_kernels", [=] { kokkoskernels::spgemm<double, Space>(space, of->a, of->b); });
#endif
#ifdef KOKKOS_ENABLE_CUDA
  if constexpr (std::is_same_v<Space, Kokkos::Cuda>) {
    const auto product = std::make_shared<perf::CusparseProduct>(space, of->a, of->b);
    try {  // large products may need more memory than there is
      product->multiply(space);
      add("cusparse", [=] { product->multiply(space); });
    } catch (const std::runtime_error& refused) {
      std::fprintf(stderr, "cusparse/%s: %s\n", label.c_str(), refused.what());
    }
  }
#endif
}

void register_all(int& argc, char** argv) {
  const std::string name = perf::take_flag(argc, argv, "matrix", "poisson3d:60");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const auto products = perf::words(perf::take_flag(argc, argv, "products", "A_P,R_AP,A_A"));
  const auto problem = problem_of(name);
  const auto& level = problem->hierarchy->levels()[0];
  const int unknowns = level.whole ? level.unknowns : 1;
  const int vectors = static_cast<int>(level.transfer.near_null_space.extent(1));
  const View a = level.matrix, p = level.transfer.prolongator, r = level.transfer.restriction;
  auto of = std::make_shared<std::vector<std::shared_ptr<Operands>>>();
  Kokkos::push_finalize_hook([problem, of] {
    for (const auto& one : *of) one->c = {};
    problem->hierarchy = nullptr;
    problem->modes = {};
    problem->a = {};
  });
  const auto a_p = operands(a, p, {unknowns, unknowns, vectors});
  of->push_back(a_p);
  for (const std::string& product : products) {
    if (product == "R_AP")
      of->push_back(operands(r, a_p->c, {vectors, level.unknowns, vectors}));
    else if (product == "A_A")
      of->push_back(operands(a, a, {unknowns, unknowns, unknowns}));
    else if (product != "A_P")
      throw std::runtime_error("--products takes A_P, R_AP, A_A, not " + product);
    add_product(product + "/" + name, repetitions, product == "A_P" ? a_p : of->back());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
