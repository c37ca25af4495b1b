// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"

#include <prekond/precond/fsai.hpp>

/// Setup time of the static FSAI: perf_fsai --matrix=elasticity3d:100 [--powers=1,2] [--prefilter=0]
/// [--postfilter=0]
/// [--repetitions=5] [--block_size=1] [--blocks=3: given by blocks too, in a case next to the
/// expanded matrix] [--kernels=true: times by kernel, once]. The time is that of symbolic
/// and numeric, fenced, with every allocation, the pattern and G^T.
namespace {

using namespace prekond;

void register_all(int& argc, char** argv) {
  FsaiOptions options;
  options.block_size = std::stoi(perf::take_flag(argc, argv, "block_size", "1"));
  perf::register_powers<Fsai<double, perf::Space>>(argc, argv, "elasticity3d:30", options,
                                                   perf::block_suffix(options.block_size));
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
