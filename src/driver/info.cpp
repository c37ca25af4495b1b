// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/statistics.hpp>

#include "commands.hpp"
#include "report.hpp"
#include "run_files.hpp"
#include "table.hpp"

namespace prekond::driver {
namespace {

long long whole(std::int64_t value) {
  return static_cast<long long>(value);
}

void print_statistics(const Source& source, std::int64_t bytes, const MatrixStatistics& s) {
  print_line("matrix", source.name + (source.complex ? ", complex: symmetric is said of conjugates" : ""));
  print_line("size", format("%lld rows, %lld columns, %lld entries, %s", whole(s.num_rows), whole(s.num_cols),
                            whole(s.nnz), bytes_text(bytes).c_str()));
  print_line("row lengths", format("%lld to %lld, mean %.2f, %lld empty rows", whole(s.row_length_min),
                                   whole(s.row_length_max), s.row_length_mean, whole(s.empty_rows)));
  print_line("symmetry",
             format("pattern %s, values %s, largest asymmetry %.3g", s.symmetric_pattern ? "yes" : "no",
                    s.symmetric_values ? "yes" : "no", s.max_asymmetry));
  print_line("diagonal",
             format("%lld positive, %lld negative, %lld zero, %lld missing; |a_ii| from %.4g to %.4g",
                    whole(s.diagonal_positive), whole(s.diagonal_negative), whole(s.diagonal_zero),
                    whole(s.diagonal_missing), s.diagonal_min_abs, s.diagonal_max_abs));
  print_line("bandwidth",
             format("lower %lld, upper %lld", whole(s.lower_bandwidth), whole(s.upper_bandwidth)));
  print_line("dominance", format("%lld rows are diagonally dominant", whole(s.diagonally_dominant_rows)));
  print_line("norms", format("Frobenius %.6g, largest |a_ij| %.6g", s.frobenius_norm, s.max_abs));
}

template <class Scalar>
void info(const CommandLine& line, MatrixInput& input, RunFiles& files) {
  const Settings& settings = line.settings;
  const Session session(line.kokkos);
  const Space space;
  LoadedMatrix<Scalar> loaded;
  MatrixStatistics measured;
  {
    Progress progress(!settings.quiet);
    loaded = load_matrix<Scalar>(space, settings, input, progress);
    progress.phase("measuring " + loaded.source.name);
    measured = statistics<Scalar, Space>(space, loaded.a);
  }
  files.write_report(info_report(loaded.source, measured));
  if (!settings.quiet) print_statistics(loaded.source, loaded.a.bytes(), measured);
  files.finish();
}

}  // namespace

void info_command(const CommandLine& line, const Processes& processes) {
  RunFiles files(line);
  files.during(processes, [&] {
    processes.only_first([&] {
      MatrixInput input = open_matrix(line.settings);
      if (input.complex)
        info<Complex>(line, input, files);
      else
        info<double>(line, input, files);
    });
  });
}

}  // namespace prekond::driver
