// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <filesystem>

/// Time to read a Matrix Market file, plain and gzip'd: perf_matrix_market --matrix=elasticity3d:30 writes
/// the matrix to the temporary folder and reads it back.
namespace {

using namespace prekond;
using perf::Space;

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const auto a = copy_to<Kokkos::DefaultHostExecutionSpace>(generate<double>(Space(), spec));
  for (const char* ending : {".mtx", ".mtx.gz"}) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("prekond_perf" + std::string(ending))).string();
    write_matrix_market(path, a);
    perf::add("read/" + spec + ending, 3, [=](benchmark::State& state) {
      MatrixMarketInfo info;
      const double time = perf::seconds(Space(), [&] { read_matrix_market<double>(path, &info); });
      state.counters["text_bytes"] = double(info.inflated_bytes);
      state.counters["text_bytes_per_second"] = double(info.inflated_bytes) / time;
      return time;
    });
    Kokkos::push_finalize_hook([path] { std::filesystem::remove(path); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
