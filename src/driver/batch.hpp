// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The systems of `prekond batch`, which --pattern, --values, --generate and --rhs name.
#include <prekond/batched/convert.hpp>

#include <string>
#include <vector>

#include "problem.hpp"

namespace prekond::driver {

/// Systems made of one model.
struct ModelBatch {
  std::string generate;  ///< NAME:SIZE[,key=value...]; empty: the model is --pattern
  std::int64_t systems = 0;
  BatchedPerturbation perturbation;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("batch", systems, std::int64_t(1), std::int64_t(2147483647), "systems");
    visit("spread", perturbation.spread, 0.0, 1.0, "an entry is multiplied by 1 - spread u at least");
  }
};

/// A batch before it is read or generated.
struct BatchInput {
  std::vector<std::string> files;  ///< of the systems, by number; empty: they are made of a model
  ModelBatch model;
  bool complex = false;
};

/// A batch in the memory that is computed in.
template <class Scalar>
struct LoadedBatch {
  Json matrix;  ///< of the pattern, as the report has it
  BatchedStorage<BatchedCsr<Scalar, Space>> a;
  MultiVector<Scalar, Space> b;
  BatchedScaling<Space> scaling;  ///< of a and b
};

/// Finds the files, or what is to be generated, and whether the numbers are complex. Files of a folder are in
/// the order of the numbers in their names, 9 before 10. \throws OptionError, InputError
BatchInput open_batch(const Settings& settings);

/// All files that a batch reads; none of another command's settings. \throws InputError for a folder without
std::vector<std::string> batch_inputs(const Settings& settings);

/// Reads or generates the batch and its right-hand sides, and scales them. \throws InputError naming the
/// first file of another pattern, with its first row that differs; for cg, the first system that is not
/// symmetric
template <class Scalar>
LoadedBatch<Scalar> load_batch(const Context& context, const BatchInput& input);

}  // namespace prekond::driver
