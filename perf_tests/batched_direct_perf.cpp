// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched_data.hpp"
#include "device_rates.hpp"
#include "peers/cublas_batched.hpp"
#include "peers/cusolver_batched.hpp"
#include "peers/cusparse_tridiagonal.hpp"
#include "peers/lapack_bands.hpp"

#include <prekond/batched/convert.hpp>
#include <prekond/batched/direct.hpp>

/// Direct solves of batches (batched_data.hpp), compared with those of other libraries:
/// perf_batched_direct --matrices=stencil3:64;poisson2d:6 --systems=20000 [--lanes=auto] [--dense=128]
/// [--repetitions=5]
///
/// Cases, each NAME/MATRIX/SYSTEMS; all have the counter `us_a_system`. Conversions to a method's own format
/// are not measured.
///
/// direct             BatchedDirect; `bytes_per_second`: the band, b and x once, `share_of_copy`: as a share
///                    of a copy's; `converged`: the share of the systems
/// direct_stored      with factors that are kept
/// cusparse_gtsv2     with CUDA, stencil3: gtsv2StridedBatch
/// cusparse_gtsv_interleaved_N    gtsvInterleavedBatch, algorithm N: 0 Thomas's, 1 LU with pivots, 2 QR
/// cublas_lu          with CUDA, up to `--dense` rows: getrfBatched and getrsBatched
/// cusolver_qr        likewise: csrqrsvBatched, without its analysis
/// lapack_gbsv        on a host with LAPACK: a loop over dgbsv, by all threads
namespace {

using namespace prekond;
using perf::Space;
using Shared = perf::SharedBatch;

template <class Work>
double us_a_system(benchmark::State& state, const Shared& data, const Work& work) {
  work();
  const double time = work();
  state.counters["us_a_system"] = 1e6 * time / double(data->systems);
  return time;
}

void add_direct(const Shared& data, const BatchedDirectOptions& options, const std::string& name,
                int repetitions) {
  perf::add(name + "/" + data->name(), repetitions, [=](benchmark::State& state) {
    data->load();
    const Space space;
    const auto banded = to_banded(space, data->batch());
    const auto& a = banded.matrix;
    BatchedDirect<double, Space> direct(options);
    BatchedResult<Space> result;
    direct.symbolic(space, a);
    direct.numeric(space, a);
    const double time = us_a_system(state, data, [&] {
      return perf::seconds(space, [&] { direct.solve(space, a, data->b, data->x, result); });
    });
    const double numbers = double(a.num_rows) * (a.lower + a.upper + 3);
    const double rate = 8 * numbers * double(data->systems) / time;
    state.counters["bytes_per_second"] = rate;
    state.counters["share_of_copy"] = rate / perf::copy_bandwidth();
    state.counters["converged"] = double(summarize(space, result).num_converged) / double(data->systems);
    return time;
  });
}

void add_peers(const Shared& data, int most_dense, int repetitions) {
  const auto add = [&](const std::string& name, const auto& solve) {
    perf::add(name + "/" + data->name(), repetitions, [=](benchmark::State& state) {
      data->load();
      return us_a_system(state, data, [&] { return solve(data->batch(), data->b, data->x); });
    });
  };
  if (perf::has_cusparse_tridiagonal && data->spec.rfind("stencil3:", 0) == 0) {
    add("cusparse_gtsv2", [](const auto&... all) { return perf::cusparse_tridiagonal(all...); });
    for (int algorithm = 0; algorithm < 3; ++algorithm)
      add("cusparse_gtsv_interleaved_" + std::to_string(algorithm),
          [=](const auto&... all) { return perf::cusparse_tridiagonal_interleaved(all..., algorithm); });
  }
  data->load();
  if (perf::has_cublas_batched && data->model.num_rows <= most_dense)
    add("cublas_lu", [](const auto&... all) { return perf::cublas_batched_lu(all...); });
  if (perf::has_cusolver_batched && data->model.num_rows <= most_dense)
    add("cusolver_qr", [](const auto&... all) { return perf::cusolver_batched_qr(all...); });
  if (perf::has_lapack_bands)
    add("lapack_gbsv", [](const auto&... all) { return perf::lapack_bands(all...); });
}

void register_all(int& argc, char** argv) {
  const auto flag = [&](const char* name, const char* fallback) {
    return perf::take_flag(argc, argv, name, fallback);
  };
  const int repetitions = std::stoi(flag("repetitions", "5"));
  const auto systems = perf::numbers(flag("systems", "20000"));
  const int most_dense = std::stoi(flag("dense", "128"));
  const std::string lanes = flag("lanes", "auto");
  std::string matrices = flag("matrices", "stencil3:64");
  std::replace(matrices.begin(), matrices.end(), ';', ',');
  for (const std::string& spec : perf::words(matrices))
    for (const int count : systems) {
      const auto data = std::make_shared<perf::BatchData>();
      data->spec = spec;
      data->systems = count;
      BatchedDirectOptions options;
      OptionFields::of(options).set({{"lanes", lanes}}, "perf_batched_direct");
      add_direct(data, options, "direct", repetitions);
      options.stored = true;
      add_direct(data, options, "direct_stored", repetitions);
      add_peers(data, most_dense, repetitions);
    }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
