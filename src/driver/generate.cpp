// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/statistics.hpp>

#include "atomic_file.hpp"
#include "commands.hpp"
#include "problem.hpp"

namespace prekond::driver {
namespace {

template <class Scalar>
void generate_as(const CommandLine& line, const Processes& processes) {
  const KokkosSession session(line.kokkos);
  Progress progress(!line.settings.quiet);
  const Context context{line.settings, processes, progress};
  Problem<Scalar> problem(line.settings);
  MatrixInput nothing;
  problem.load(context, nothing);
  const MatrixStatistics measured = statistics<Scalar, Space>(context.space, problem.whole);
  // Symmetric storage is for what it reproduces to the last bit.
  const bool symmetric =
      measured.symmetric_pattern && measured.symmetric_values && measured.max_asymmetry == 0;
  progress.phase("writing " + line.output);
  const MatrixMarketWriteOptions options{symmetric && !is_complex<Scalar>, "prekond generate " + problem.name,
                                         symmetric && is_complex<Scalar>};
  write_file(line.output, [&](const std::string& path) {
    write_matrix_market(path, copy_to<Kokkos::HostSpace>(problem.whole), options);
  });
  progress.end();
  if (line.settings.quiet) return;
  print_line("matrix", text_of(problem.name, ": ", problem.num_rows, " rows, ", problem.nnz, " entries"));
  print_line("written to", line.output + (!symmetric           ? ""
                                          : is_complex<Scalar> ? " (hermitian storage: the lower triangle)"
                                                               : " (symmetric storage: the lower triangle)"));
}

}  // namespace

void generate_command(const CommandLine& line, const Processes& processes) {
  check_writable(line.output);
  if (generates_complex(line.settings.generate))
    generate_as<Complex>(line, processes);
  else
    generate_as<double>(line, processes);
}

}  // namespace prekond::driver
