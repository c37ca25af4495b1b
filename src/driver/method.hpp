// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The solver and the preconditioners that the settings name, chosen once and checked.
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/auto_solver.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "command_line.hpp"
#include "problem.hpp"

namespace prekond::driver {

template <class Scalar>
using AnySolver = Solver<Scalar, Space>;
template <class Scalar>
using AnyPreconditioner = MatrixPreconditioner<Scalar, Space>;

/// A choice of solver and preconditioner, as the user sees it.
struct MethodFacts {
  std::string label;  ///< the preconditioner with its options, as written
  std::string solver_name;
  std::string precond_name;
  OptionMap solver_options;   ///< the values in force, those of the stopping test too
  OptionMap precond_options;  ///< likewise
  Properties solver_properties;
  Properties precond_properties;
  /// Chosen by AutoSolver when A is known: `auto` is the name of the solver, of the preconditioner, or of
  /// both.
  bool is_automatic = false;
  std::string refusal = {};  ///< why a row of `compare` has no method; empty: it has one

  bool needs_spd() const { return solver_properties.needs_spd || precond_properties.needs_spd; }
  /// The kind of --scale: by the diagonal where the solver or the preconditioner is for positive definite
  /// matrices, so that R = C in spite of rounding in A; else by the largest entries.
  ScalingKind scaling() const { return needs_spd() ? ScalingKind::diagonal : ScalingKind::equilibrate; }
};

/// A solver and a preconditioner, chosen and with their options set.
template <class Scalar>
struct Method : MethodFacts {
  std::unique_ptr<Configurator<AnySolver<Scalar>>> solver;
  std::unique_ptr<Configurator<AnyPreconditioner<Scalar>>> precond;
  DistributedOptions distributed;  ///< set together with the preconditioner's own options
};

/// The solver of the settings with the preconditioner of a command, or with each of those of `compare`. There
/// a row that is in error has a refusal, unless all are.
///
/// \throws OptionError for an unknown name or option, a value out of range, a solver that does not take the
/// preconditioner, and options of the command that do not go with the method; with the place in the config
/// file where the setting came from one
template <class Scalar>
std::vector<Method<Scalar>> choose_methods(const CommandLine& line);

/// AutoSolver's candidates for a matrix whose rows `num_ranks` ranks share, with the solver or the
/// preconditioner of the settings where one is named.
std::vector<Candidate> candidates_of(const Settings& settings, const MatrixStatistics& facts, bool is_complex,
                                     int num_ranks);

/// A candidate as the user would have named it. \throws OptionError as choose_methods
template <class Scalar>
Method<Scalar> method_of(const Settings& settings, const Candidate& candidate);

/// The needs of all methods, which have one solver, and one order for all rows of a table: a matrix that none
/// of them takes is refused before the first is set up.
template <class Scalar>
MethodNeeds needs_of(const std::vector<Method<Scalar>>& methods);

/// The devices that share the setups, null for one. Within a KokkosSession.
/// \throws OptionError where there are fewer
std::unique_ptr<const Devices> choose_devices(const Settings& settings);

/// Within a KokkosSession. \throws OptionError where a method's setup cannot be shared by several devices;
/// names the methods that can
template <class Scalar>
void check_devices(const Devices* devices, const std::vector<Method<Scalar>>& methods);

/// \throws OptionError for settings that only one process can have
void check_processes(const Settings& settings, const Processes& processes);

/// \throws OptionError for settings that a complex matrix cannot have
void check_complex(const CommandLine& line, const Processes& processes);

/// Collective. Chooses the methods, starts Kokkos, opens the matrix, and does `work(context, methods, input)`
/// with the methods for its numbers, real or complex. All that the command line asks for is checked before
/// the matrix is looked at.
template <class Work>
void with_methods(const CommandLine& line, const Processes& processes, const Work& work) {
  const Settings& settings = line.settings;
  std::vector<Method<double>> methods;
  std::optional<KokkosSession> session;
  std::unique_ptr<const Devices> devices;
  processes.collective([&] {
    methods = choose_methods<double>(line);
    check_processes(settings, processes);
    session.emplace(line.kokkos);
    devices = choose_devices(settings);
    check_devices(devices.get(), methods);
  });
  Progress progress(!settings.quiet && processes.is_root());
  progress.monitor(settings.monitor);
  const Context context{settings, processes, progress, devices.get()};
  MatrixInput input;
  processes.on_root([&] { input = open_matrix(settings); });
  input.complex = processes.max(input.complex ? 1 : 0) > 0;
  if (!input.complex) return work(context, methods, input);
  std::vector<Method<Complex>> complex_methods;
  processes.collective([&] {
    check_complex(line, processes);
    complex_methods = choose_methods<Complex>(line);
    check_devices(devices.get(), complex_methods);
  });
  work(context, complex_methods, input);
}

}  // namespace prekond::driver
