// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "peers/cusparse_bsr.hpp"
#include "peers/cusparse_sell.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include "matrix/bcsr_operator.hpp"
#include "matrix/csr_by_lanes.hpp"
#include "matrix/format_operator.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

/// Products by every format: perf_formats --matrices=poisson3d:160;elasticity3d:100;FILE.mtx.gz;FOLDER
/// [--repetitions=5] [--seconds=0.02 a measurement]. Cases, each NAME/MATRIX:
/// copy, triad    of as many bytes as the matrix has by CSR
/// csr, sell, dia, jad, bcsr    y = A x; `bytes_per_second` counts the matrix, x and y once;
///                `of_copy`: that over the copy's rate
/// csr_scalar, csr_vector    the same by a lane a row and by 16; on a host a plain loop over a row's entries
/// step_FORMAT    the step of a three-term recurrence; `over_product`: over the product's time
/// dot_FORMAT     product and inner product
/// make_FORMAT    the conversion from CSR; `products`: in products by CSR
/// bcsr_by_rows   by blocks in Tpetra's and Kokkos Kernels' order; `block_size`, `fill` (places an entry)
/// cusparse_*     with CUDA, its two CSR algorithms, SELL, and bsrmv of the same blocks
/// auto           the time of the format that `auto` picks; `over_best`: over the fastest format's;
///                `cusparse_over`: cuSPARSE's fastest over it
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<const double, const int, const std::size_t, Space::memory_space>;

double wanted_seconds = 0.02;

struct Data {
  std::string spec;
  Matrix a;
  Vector<double, Space> x, y, b, dot;
  ReduceWorkspace<double, Space> workspace;
  std::map<std::string, double> best;  ///< seconds, by case
  std::map<std::string, double> bytes;
  std::map<MatrixFormat, std::shared_ptr<Operator<double, Space>>> ops;  ///< those made, with this matrix
  bool is_loaded = false;

  /// When the first of its cases runs: all matrices at once would not fit.
  void load() {
    if (is_loaded) return;
    const Space space;
    const bool is_file = std::filesystem::exists(spec);
    if (is_file)
      a = copy_to<Space>(read_matrix_market<double>(spec));
    else
      a = generate<double>(space, spec);
    x = Vector<double, Space>("x", a.num_cols);
    y = Vector<double, Space>("y", a.num_rows);
    b = Vector<double, Space>("b", a.num_rows);
    dot = Vector<double, Space>("dot", 1);
    Kokkos::deep_copy(x, 1.0 / 3);
    Kokkos::deep_copy(b, 0.1);
    workspace = ReduceWorkspace<double, Space>(space, a.num_rows);
    is_loaded = true;
  }
  void unload() {
    Data empty;
    empty.spec = spec;
    *this = std::move(empty);
  }
};
using Shared = std::shared_ptr<Data>;

template <class Work>
double time_of(const Work& work) {
  return perf::mean_seconds(work, wanted_seconds, 2000);
}

double record(Data& data, const std::string& name, benchmark::State& state, double seconds, double bytes) {
  const auto at = data.best.try_emplace(name, seconds).first;
  at->second = std::min(at->second, seconds);
  data.bytes[name] = bytes;
  if (bytes > 0) state.counters["bytes_per_second"] = bytes / seconds;
  if (bytes > 0 && data.best.count("copy") > 0)
    state.counters["of_copy"] = bytes / seconds / (data.bytes["copy"] / data.best["copy"]);
  return seconds;
}

/// A case, whichever runs first: a filter may leave out others.
template <class Work>
void add(const Shared& data, const std::string& name, int repetitions, const Work& work) {
  perf::add(name + "/" + data->spec, repetitions, [=](benchmark::State& state) {
    data->load();
    return work(state);
  });
}

void add_streams(const Shared& data, int repetitions) {
  const auto vectors = [=](std::size_t arrays) {
    const std::size_t n = static_cast<std::size_t>(data->a.bytes()) / 8 / arrays + 1;
    return MultiVector<double, Space>("streams", n, arrays);
  };
  add(data, "copy", repetitions, [=](benchmark::State& state) {
    const auto v = vectors(2);
    const double time = time_of([&] { Kokkos::deep_copy(Space(), column(v, 1), column(v, 0)); });
    return record(*data, "copy", state, time, 16.0 * double(v.extent(0)));
  });
  add(data, "triad", repetitions, [=](benchmark::State& state) {
    const auto v = vectors(3);
    const double time = time_of([&] {
      Kokkos::parallel_for(
          "prekond::perf::triad", Kokkos::RangePolicy<Space>(0, v.extent(0)),
          KOKKOS_LAMBDA(std::int64_t i) { v(i, 2) = v(i, 0) + 0.5 * v(i, 1); });
    });
    return record(*data, "triad", state, time, 24.0 * double(v.extent(0)));
  });
}

std::int64_t bytes_of(const Operator<double, Space>& op) {
  if (const auto* sell = dynamic_cast<const SellOperator<double, Space>*>(&op)) return sell->matrix().bytes();
  if (const auto* dia = dynamic_cast<const DiaOperator<double, Space>*>(&op)) return dia->matrix().bytes();
  if (const auto* bcsr = dynamic_cast<const BcsrOperator<double, Space>*>(&op)) return bcsr->matrix().bytes();
  if (const auto* jad = dynamic_cast<const JadOperator<double, Space>*>(&op)) return jad->matrix().bytes();
  return dynamic_cast<const CsrOperator<double, Space>&>(op).matrix().bytes();
}

struct FormatCase {
  Shared data;
  MatrixFormat format;
  std::string name() const { return to_string(format); }

  /// Null where the format refuses the matrix.
  const Operator<double, Space>* get() const {
    auto& op = data->ops[format];
    try {
      if (!op) op = make_operator<double, Space>(Space(), data->a, format);
    } catch (const InputError&) {
      return nullptr;
    }
    return op.get();
  }
};

template <class Work>
void add_case(const FormatCase& of, const std::string& prefix, int repetitions, const Work& work) {
  add(of.data, prefix + of.name(), repetitions, [=](benchmark::State& state) {
    const auto* op = of.get();
    if (op == nullptr) {
      state.counters["refused"] = 1;
      return 0.0;
    }
    return work(state, *op);
  });
}

void add_format(const Shared& data, MatrixFormat format, int repetitions) {
  const FormatCase of{data, format};
  const std::string name = of.name();
  const double vectors = 8;
  const auto xs = [=] { return as_multivector(VectorView<const double, Space>(data->x)); };
  const auto bs = [=] { return as_multivector(VectorView<const double, Space>(data->b)); };
  const auto moved = [=](const Operator<double, Space>& op) {
    return double(bytes_of(op)) + vectors * double(data->a.num_rows + data->a.num_cols);
  };
  add_case(of, "", repetitions, [=](benchmark::State& state, const Operator<double, Space>& op) {
    const double time = time_of([&] { op.apply(Space(), xs(), as_multivector(data->y)); });
    return record(*data, name, state, time, moved(op));
  });
  if (format == MatrixFormat::jad) return;
  add_case(of, "step_", repetitions, [=](benchmark::State& state, const Operator<double, Space>& op) {
    if (data->a.num_cols != data->a.num_rows) return 0.0;
    const RecurrenceStep<double> step{-0.01, 0.4, 0.3, 0.2};
    const double time =
        time_of([&] { op.apply_recurrence(Space(), step, xs(), bs(), as_multivector(data->y)); });
    state.counters["over_product"] = time / data->best[name];
    return record(*data, "step_" + name, state, time, moved(op) + 2 * vectors * double(data->a.num_rows));
  });
  add_case(of, "dot_", repetitions, [=](benchmark::State& state, const Operator<double, Space>& op) {
    if (data->a.num_cols < data->a.num_rows) return 0.0;
    const double time = time_of([&] { op.apply_dot(Space(), data->x, data->y, data->dot, data->workspace); });
    return record(*data, "dot_" + name, state, time, moved(op));
  });
  add(data, "make_" + name, 1, [=](benchmark::State& state) {
    const bool refused = of.get() == nullptr;
    data->ops[format] = nullptr;
    if (refused || format == MatrixFormat::csr) return 0.0;
    const double time =
        perf::seconds(Space(), [&] { make_operator<double, Space>(Space(), data->a, format); });
    state.counters["products"] = time / data->best["csr"];
    return time;
  });
}

/// The rows by 1 and by 16 lanes each.
template <int Lanes>
void add_lanes(const Shared& data, const std::string& name, int repetitions) {
  add(data, name, repetitions, [=](benchmark::State& state) {
    const CsrByLanes<double, Space, Lanes> op(data->a);
    const auto x = as_multivector(VectorView<const double, Space>(data->x));
    return record(*data, name, state, time_of([&] { op.apply(Space(), x, as_multivector(data->y)); }),
                  double(data->a.bytes()) + 8.0 * double(data->a.num_rows + data->a.num_cols));
  });
}

/// With the blocks that are found, where they are larger than one entry.
void add_blocks(const Shared& data, int repetitions) {
  const auto add_blocks_case = [=](const std::string& name, BlockOrder order, const auto& multiply) {
    add(data, name, repetitions, [=](benchmark::State& state) {
      const BlockFill fill = detect_block_size<Space>(Space(), data->a);
      state.counters["block_size"] = fill.block_size;
      state.counters["fill"] = fill.fill;
      if (fill.block_size == 1 || data->a.num_rows % fill.block_size != 0) return 0.0;
      const auto blocks = to_bcsr<double, Space>(Space(), data->a, fill.block_size, order);
      return record(*data, name, state, multiply(blocks),
                    double(blocks.bytes()) + 8.0 * double(data->a.num_rows + data->a.num_cols));
    });
  };
  add_blocks_case("bcsr_by_rows", BlockOrder::by_rows, [=](const auto& blocks) {
    const BcsrOperator<double, Space> op(blocks);
    const auto x = as_multivector(VectorView<const double, Space>(data->x));
    return time_of([&] { op.apply(Space(), x, as_multivector(data->y)); });
  });
#ifdef KOKKOS_ENABLE_CUDA
  add_blocks_case("cusparse_bsr", BlockOrder::by_columns, [=](const auto& blocks) {
    const perf::CusparseBsr m(Space(), blocks);
    return time_of([&] { m.multiply(data->x.data(), data->y.data()); });
  });
#endif
}

void add_cusparse(const Shared& data, int repetitions) {
#ifdef KOKKOS_ENABLE_CUDA
  using Values = CsrMatrix<double, int, std::size_t, Kokkos::CudaSpace>;
  for (const bool second : {false, true}) {
    const std::string name = second ? "cusparse_csr_2" : "cusparse_csr_1";
    add(data, name, repetitions, [=](benchmark::State& state) {
      const Matrix& a = data->a;
      Values copy(a.num_rows, a.num_cols, decltype(Values::row_ptrs)("row_ptrs", a.row_ptrs.extent(0)),
                  decltype(Values::col_idxs)("col_idxs", a.nnz()),
                  decltype(Values::values)("values", a.nnz()));
      Kokkos::deep_copy(copy.row_ptrs, a.row_ptrs);
      Kokkos::deep_copy(copy.col_idxs, a.col_idxs);
      Kokkos::deep_copy(copy.values, a.values);
      const perf::CusparseMatrix m(Space(), copy, second ? CUSPARSE_SPMV_CSR_ALG2 : CUSPARSE_SPMV_CSR_ALG1);
      const double time = time_of([&] { m.multiply(1, data->x.data(), 0, data->y.data()); });
      return record(*data, name, state, time,
                    double(a.bytes()) - 4.0 * double(a.num_rows) + 8.0 * double(a.num_rows + a.num_cols));
    });
  }
  // Once: the host fills it.
  add(data, "cusparse_sell", 1, [=](benchmark::State& state) {
    const perf::CusparseSell m(Space(), data->a);
    if (!m.fits()) return 0.0;
    const double time = time_of([&] { m.multiply(data->x.data(), data->y.data()); });
    return record(*data, "cusparse_sell", state, time, 0);
  });
#else
  (void)data;
  (void)repetitions;
#endif
}

double fastest(const Data& data, const std::vector<std::string>& names) {
  double best = 0;
  for (const auto& name : names)
    if (data.best.count(name) > 0 && (best == 0 || data.best.at(name) < best)) best = data.best.at(name);
  return best;
}

void add_auto(const Shared& data) {
  add(data, "auto", 1, [=](benchmark::State& state) {
    const FormatAdvice advice =
        advise_format<Space>(Space(), CsrView<double, Space>(data->a), sizeof(double));
    const double own = data->best[to_string(advice.format)];
    state.counters["format"] = static_cast<double>(advice.format);
    state.counters["rows"] = static_cast<double>(data->a.num_rows);
    state.counters["nnz"] = static_cast<double>(data->a.nnz());
    state.counters["longest_row"] = static_cast<double>(advice.longest_row);
    state.counters["over_best"] = own / fastest(*data, {"csr", "sell", "dia", "jad", "bcsr"});
    const double cusparse = fastest(*data, {"cusparse_csr_1", "cusparse_csr_2", "cusparse_sell"});
    if (cusparse > 0) state.counters["cusparse_over"] = cusparse / own;
    state.SetLabel(to_string(advice.format) + ": " + advice.reason);
    data->unload();
    return own;
  });
}

/// FILE, or the matrices in FOLDER, or a generator's specification.
std::vector<std::string> matrices_of(const std::string& list) {
  std::vector<std::string> specs;
  std::istringstream stream(list);
  for (std::string spec; std::getline(stream, spec, ';');) {
    if (!std::filesystem::is_directory(spec)) {
      specs.push_back(spec);
      continue;
    }
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(spec)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    specs.insert(specs.end(), files.begin(), files.end());
  }
  return specs;
}

void register_all(int& argc, char** argv) {
  const std::string list = perf::take_flag(argc, argv, "matrices", "elasticity3d:30;poisson3d:60");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  wanted_seconds = std::stod(perf::take_flag(argc, argv, "seconds", "0.02"));
  for (const std::string& spec : matrices_of(list)) {
    const auto data = std::make_shared<Data>();
    data->spec = spec;
    add_streams(data, repetitions);
    for (const MatrixFormat format :
         {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::dia, MatrixFormat::jad, MatrixFormat::bcsr})
      add_format(data, format, repetitions);
    add_lanes<1>(data, "csr_scalar", repetitions);
    add_lanes<16>(data, "csr_vector", repetitions);
    add_blocks(data, repetitions);
    add_cusparse(data, repetitions);
    add_auto(data);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
