// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include "sparse_product/transpose.hpp"

#ifdef PREKOND_HAS_KOKKOSKERNELS
#include <prekond/adapters/kokkoskernels.hpp>
#endif

#include <memory>

/// Bandwidth of the products and of a copy: perf_spmv --matrix=elasticity3d:100. `bytes_per_second`
/// counts the bytes that must move: values, columns and row pointers once, x and y once. Where Kokkos Kernels
/// is found, its products are timed too: `kokkoskernels` is its default, `_int` has int row pointers, which
/// is what it gives to cuSPARSE where it was built with it.
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;
constexpr int inner = 20;

struct Data {
  Matrix a, g, gt;
  Vector<double, Space> x, y, dot;
  ReduceWorkspace<double, Space> workspace;
};

template <class AnyMatrix>
double product_bytes(const AnyMatrix& a) {
  return double(a.bytes()) + 8.0 * double(a.num_rows + a.num_cols);
}

template <class Work>
double repeat(benchmark::State& state, double bytes, const Work& work) {
  work();
  const double time = perf::seconds(Space(),
                                    [&] {
                                      for (int k = 0; k < inner; ++k) work();
                                    }) /
                      inner;
  state.counters["bytes_per_second"] = bytes / time;
  return time;
}

double copy(benchmark::State& state, std::size_t n) {
  Vector<double, Space> from("from", n), to("to", n);
  return repeat(state, 16.0 * double(n), [&] { Kokkos::deep_copy(Space(), to, from); });
}

#ifdef PREKOND_HAS_KOKKOSKERNELS
CsrMatrix<double, int, int, Space::memory_space> with_int_offsets(const Matrix& a) {
  CsrMatrix<double, int, int, Space::memory_space> copy(a.num_rows, a.num_cols, {}, a.col_idxs, a.values);
  copy.row_ptrs = decltype(copy.row_ptrs)("row_ptrs", a.row_ptrs.extent(0));
  Kokkos::deep_copy(copy.row_ptrs, a.row_ptrs);
  return copy;
}

/// The cases of one matrix; each makes its operator, which owns a handle, when it runs.
void register_kokkoskernels(const std::string& name, int repetitions, const std::shared_ptr<Data>& data,
                            Matrix Data::*m) {
  const auto add = [=](const std::string& kind, const auto& convert, kokkoskernels::SpmvAlgorithm algorithm) {
    perf::add("spmv_" + kind + "/" + name, repetitions, [=](benchmark::State& state) {
      const auto a = convert((*data).*m);
      using Offset = typename decltype(a)::offset_type;
      const kokkoskernels::SpmvOperator<double, Space, Offset> op(a, {algorithm});
      const VectorView<const double, Space> x = data->x;
      return repeat(state, product_bytes(a),
                    [&] { op.apply(Space(), as_multivector(x), as_multivector(data->y)); });
    });
  };
  using enum kokkoskernels::SpmvAlgorithm;
  const auto as_is = [](const Matrix& a) { return a; };
  add("kokkoskernels", as_is, automatic);
  add("kokkoskernels_merge_path", as_is, merge_path);
  add("kokkoskernels_int", with_int_offsets, automatic);
  add("kokkoskernels_int_merge_path", with_int_offsets, merge_path);
}
#endif

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const Space space;
  const auto data = std::make_shared<Data>();
  Kokkos::push_finalize_hook([data] { *data = {}; });
  data->a = generate<double>(space, spec);
  AdaptiveFsai<double, Space> fsai(AdaptiveFsaiOptions::published());
  fsai.symbolic(space, data->a);
  fsai.numeric(space, data->a);
  data->g = fsai.factor();
  data->gt = fsai.factor_transposed();
  const std::int64_t n = data->a.num_rows;
  data->x = Vector<double, Space>("x", n);
  data->y = Vector<double, Space>("y", n);
  data->dot = Vector<double, Space>("dot", 1);
  data->workspace = ReduceWorkspace<double, Space>(space, n);
  Kokkos::deep_copy(data->x, 1.0 / 3);
  const std::size_t copied = static_cast<std::size_t>(data->a.nnz());
  perf::add("copy", repetitions, [=](benchmark::State& state) { return copy(state, copied); });
  const auto product = [=](const char* name, Matrix Data::*m) {
    perf::add(std::string("spmv/") + name + "/" + spec, repetitions, [=](benchmark::State& state) {
      const Matrix& a = (*data).*m;
      return repeat(state, product_bytes(a), [&] {
        spmv<double, Space>(Space(), 1.0, a, as_multivector(VectorView<const double, Space>(data->x)), 0.0,
                            as_multivector(data->y));
      });
    });
  };
  product("A", &Data::a);
  product("G", &Data::g);
  product("G^T", &Data::gt);
#ifdef PREKOND_HAS_KOKKOSKERNELS
  register_kokkoskernels("A/" + spec, repetitions, data, &Data::a);
  register_kokkoskernels("G/" + spec, repetitions, data, &Data::g);
  register_kokkoskernels("G^T/" + spec, repetitions, data, &Data::gt);
#endif
  perf::add("spmv_dot/A/" + spec, repetitions, [=](benchmark::State& state) {
    return repeat(state, product_bytes(data->a), [&] {
      spmv_dot<double, Space>(Space(), data->a, data->x, data->y, data->dot, data->workspace);
    });
  });
  perf::add("transpose/G/" + spec, repetitions, [=](benchmark::State& state) {
    const double time = perf::seconds(Space(), [&] { transpose<double, Space>(Space(), data->g); });
    state.counters["entries_per_second"] = double(data->g.nnz()) / time;
    return time;
  });
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
