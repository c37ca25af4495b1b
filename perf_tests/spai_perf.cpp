// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_rates.hpp"
#include "fsai_setup.hpp"

#include <prekond/precond/dynamic_spai.hpp>
#include <prekond/precond/spai.hpp>
#include "sparse_product/transpose.hpp"

/// Setup time of the static SPAI: perf_spai --matrix=elasticity3d:30 [--powers=1,2] [--sides=right,left]
/// [--scalars=single,double] [--prefilter=0] [--repetitions=5]
/// [--kernels=true: times by kernel, once]; with --dynamic=true of the dynamic one [--epsilon=0.4]
/// [--max_steps=5]
/// [--step_size=5] instead. The time is that of symbolic and numeric, fenced, with every allocation, the
/// pattern and the transpositions. `flops` of the QR over the time is the rate, and `multiply_add_share` what
/// that is of the rate of multiply-adds in registers in that precision, measured in the same run;
/// `gathered_bytes` is what one reading of A^T's rows in J takes, from whatever memory, `least_bytes` one
/// reading or writing of A, A^T, M^T and M, and `copy_share` the rate of these over a copy's.
namespace {

using namespace prekond;
using perf::Matrix;
using perf::Space;

/// The sum over k of the lengths of A^T's rows in J_k: row j of M has the k with j in J_k.
struct SumLengths {
  VectorView<const std::size_t, Space> of_columns;
  VectorView<const std::size_t, Space> of_rows;
  KOKKOS_FUNCTION void operator()(std::int64_t j, std::int64_t& sum) const {
    sum += static_cast<std::int64_t>((of_columns(j + 1) - of_columns(j)) * (of_rows(j + 1) - of_rows(j)));
  }
};

double gathered_bytes(const Matrix& a, const Matrix& m) {
  const Space space;
  const Matrix columns = transpose<double, Space>(space, a);
  std::int64_t sum = 0;
  Kokkos::parallel_reduce("prekond::perf::sum_lengths", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                          SumLengths{columns.row_ptrs, m.row_ptrs}, sum);
  return static_cast<double>(sum) * double(sizeof(int) + sizeof(double));
}

template <class Inverse>
double set_up(benchmark::State& state, const Matrix& a, const typename Inverse::options_type& options) {
  const Space space;
  Inverse inverse(options);
  const perf::MemoryPeak<Space::memory_space> memory;
  const double time = perf::seconds(space, [&] {
    inverse.symbolic(space, a);
    inverse.numeric(space, a);
  });
  const auto& report = inverse.report();
  const double needed = double(a.bytes()) + double(report.bytes);
  state.counters["rows"] = double(a.num_rows);
  state.counters["nnz"] = double(a.nnz());
  state.counters["nnz_m"] = double(report.nnz);
  state.counters["setup_bytes"] = double(report.setup_bytes);
  state.counters["memory_ratio"] = (double(a.bytes()) + double(memory.bytes())) / needed;
  state.counters["columns_per_second"] = double(a.num_rows) / time;
  state.counters["breakdowns"] = double(report.breakdowns.count);
  state.counters["fences"] = report.fences;
  state.counters["symbolic_seconds"] = report.symbolic_seconds;
  state.counters["flops"] = report.numeric_flops;
  state.counters["flops_per_second"] = report.numeric_flops / time;
  const double rate = options.setup_scalar == Precision::single_precision ? perf::multiply_add_rate<float>()
                                                                          : perf::multiply_add_rate<double>();
  state.counters["multiply_add_share"] = report.numeric_flops / time / rate;
  state.counters["least_bytes"] = 2 * needed;
  state.counters["copy_share"] = 2 * needed / time / perf::copy_bandwidth();
  state.counters["gathered_bytes"] = gathered_bytes(a, inverse.inverse());
  if (!report.notes.empty()) state.SetLabel(report.notes.front());
  return time;
}

/// The cases of one precision.
template <class Inverse>
void register_case(const std::string& name, int repetitions, bool kernels,
                   const std::shared_ptr<const Matrix>& a, const typename Inverse::options_type& options) {
  if (kernels) perf::print_kernels<Inverse>(*a, options, name);
  perf::add(name, repetitions, [=](benchmark::State& state) { return set_up<Inverse>(state, *a, options); });
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "convection_diffusion3d:30");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const bool kernels = perf::take_flag(argc, argv, "kernels", "false") == "true";
  const bool dynamic = perf::take_flag(argc, argv, "dynamic", "false") == "true";
  const auto powers = perf::numbers(perf::take_flag(argc, argv, "powers", "1"));
  const auto sides = perf::words(perf::take_flag(argc, argv, "sides", "right"));
  const auto scalars = perf::words(perf::take_flag(argc, argv, "scalars", "single,double"));
  OptionMap of_static = {{"prefilter", perf::take_flag(argc, argv, "prefilter", "0")}};
  OptionMap of_dynamic;
  for (const char* key : {"epsilon", "max_steps", "step_size"}) {
    const std::string value = perf::take_flag(argc, argv, key, "");
    if (!value.empty()) of_dynamic[key] = value;
  }
  const auto a = perf::lasting_matrix(spec);
  for (const std::string& scalar : scalars)
    for (const std::string& side : sides) {
      of_static["setup_scalar"] = of_dynamic["setup_scalar"] = scalar;
      of_static["side"] = of_dynamic["side"] = side;
      if (dynamic) {
        DynamicSpaiOptions options;
        OptionFields::of(options).set(of_dynamic, DynamicSpaiOptions::name);
        register_case<DynamicSpai<double, Space>>("dynamic/" + spec + "/" + scalar + "/" + side, repetitions,
                                                  kernels, a, options);
        continue;
      }
      for (const int power : powers) {
        of_static["power"] = std::int64_t(power);
        SpaiOptions options;
        OptionFields::of(options).set(of_static, SpaiOptions::name);
        register_case<Spai<double, Space>>(
            "setup/" + spec + "/" + scalar + "/" + side + "/power:" + std::to_string(power), repetitions,
            kernels, a, options);
      }
    }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
