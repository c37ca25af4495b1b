// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fsai_setup.hpp"

#include <prekond/precond/nonsymmetric_fsai.hpp>

/// Setup time of the FSAI of general matrices: perf_nonsymmetric_fsai --matrix=convection_diffusion3d:100
/// [--powers=1,2]
/// [--prefilter=0] [--postfilter=0] [--repetitions=5] [--kernels=true: times by kernel, once]. The time is
/// that of symbolic and numeric, fenced, with every allocation, the pattern and G_U's transposition; nnz(G)
/// is of both factors.
namespace {

using namespace prekond;

void register_all(int& argc, char** argv) {
  perf::register_powers<NonsymmetricFsai<double, perf::Space>>(argc, argv, "convection_diffusion3d:40", {},
                                                               "");
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
