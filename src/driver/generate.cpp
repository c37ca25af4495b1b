// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/statistics.hpp>

#include "atomic_file.hpp"
#include "commands.hpp"
#include "problem.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

template <class Scalar>
void generate_as(const CommandLine& line) {
  const KokkosSession session(line.kokkos);
  const Space space;
  Settings settings;
  settings.generate = line.spec;
  Source source;
  bool symmetric = false;
  {
    Progress progress(!line.settings.quiet);
    MatrixInput nothing;
    const Matrix<Scalar> a = load_matrix<Scalar>(space, settings, nothing, progress, source);
    const MatrixStatistics measured = statistics<Scalar, Space>(space, a);
    // Symmetric storage is for what it reproduces to the last bit.
    symmetric = measured.symmetric_pattern && measured.symmetric_values && measured.max_asymmetry == 0;
    progress.phase("writing " + line.output);
    const MatrixMarketWriteOptions options{symmetric && !is_complex<Scalar>, "prekond generate " + line.spec,
                                           symmetric && is_complex<Scalar>};
    write_file(line.output, [&](const std::string& path) {
      write_matrix_market(path, copy_to<Kokkos::HostSpace>(a), options);
    });
  }
  if (line.settings.quiet) return;
  print_line("matrix", concat(source.name, ": ", source.num_rows, " rows, ", source.nnz, " entries"));
  print_line("written to", line.output + (!symmetric           ? ""
                                          : is_complex<Scalar> ? " (hermitian storage: the lower triangle)"
                                                               : " (symmetric storage: the lower triangle)"));
}

}  // namespace

void generate_command(const CommandLine& line) {
  check_writable(line.output);
  if (generates_complex(line.spec))
    generate_as<Complex>(line);
  else
    generate_as<double>(line);
}

}  // namespace prekond::driver
