// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The PC of type "prekond".
#include "adapters/petsc_errors.hpp"
#include "adapters/petsc_inverse.hpp"
#include "adapters/petsc_kokkos.hpp"
#include "adapters/petsc_options.hpp"

#include <prekond_petsc.h>
#include <prekond/adapters/impl/petsc_vectors.hpp>
#include <prekond/core/impl/left_out.hpp>
#include <prekond/precond/linear_solver_options.hpp>
#include <prekond/precond/registry.hpp>

#include <petsc/private/pcimpl.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace prekond::petsc {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// Options of the adapter itself, given together with those of the method.
struct AdapterOptions : DistributedOptions {
  bool check_input = true;
  mpi::Transport transport = mpi::Transport::automatic;
  template <class Visitor>
  void describe(Visitor& visit) {
    DistributedOptions::describe(visit);
    visit("check_input", check_input,
          "where the method needs a symmetric matrix with a positive diagonal: check that each rank's own "
          "part is one, in every setup");
    visit("transport", transport, mpi::transport_choices(),
          "on several ranks: what sends messages. auto: MPI where PETSc trusts it with device memory "
          "(-use_gpu_aware_mpi), else NCCL where this build has it and each rank has a GPU of its own, else "
          "MPI from host memory");
  }
};

/// The data of a PC.
class PrekondPc {
 public:
  PrekondPc() { set_name(AutomaticOptions::name); }

  const std::string& name() const { return m_name; }
  bool is_set_up() const { return m_inverse != nullptr; }
  const PcInverse<Space>& inverse() const { return *m_inverse; }

  /// \throws OptionError for a name that is not registered
  void set_name(const std::string& name) {
    const auto& entry =
        find_registered(preconditioner_registry<PetscScalar, Space>(), name, "preconditioner");
    if (entry.name == m_name) return;
    m_configurator = entry.configure();
    m_name = entry.name;
    m_is_new = true;
    for (const OptionField& field : m_configurator->fields().list())
      if (field.name == "reuse") m_configurator->fields().set({{"reuse", std::string("none")}}, m_name);
  }

  /// \throws OptionError for an unknown key (it names the nearest one), a wrong type or a value out of range
  void set_options(OptionMap options) {
    if (options.empty()) return;
    const OptionFields all = fields(*m_configurator);
    translate_bools(all, options);
    const OptionMap before = all.values();
    all.set(options, m_name);
    if (all.values() != before) m_is_new = true;
  }

  /// Have the options changed since the last setup?
  bool is_new() const { return m_is_new; }

  /// All options, with the values in force.
  OptionFields fields() { return fields(*m_configurator); }
  OptionFields fields_in_force() {
    try {
      m_resolved = m_configurator->resolved();
      return fields(*m_resolved);
    } catch (const OptionError&) {
      return fields(*m_configurator);
    }
  }

  void set_up(Mat a, bool is_new_pattern) {
    if (is_new_pattern || m_is_new || !m_inverse) {
      m_inverse.reset();  // its memory is free before the next one needs as much
      m_is_new = true;    // until all has worked
      m_inverse = make_inverse(a);
    }
    try {
      m_inverse->numeric(m_space, a);
    } catch (...) {
      m_inverse.reset();  // the next setup begins anew
      throw;
    }
    m_is_new = false;
  }

  /// \throws std::logic_error where the last setup failed
  void apply(const Columns<const PetscScalar>& x, const Columns<PetscScalar>& y) {
    if (!m_inverse) throw std::logic_error(m_name + ": there is nothing to apply before a setup");
    const auto from = m_x.read(m_space, x);
    const auto to = m_y.write(m_space, y);
    m_inverse->apply(m_space, from, to);
    m_y.finish(m_space, to, y);
    if constexpr (!is_host_space<Space>) m_space.fence("prekond::petsc::apply");  // PETSc has its own streams
  }

  void reset() { m_inverse.reset(); }

 private:
  using configurator_type = Configurator<MatrixPreconditioner<PetscScalar, Space>>;

  /// The same kind on all ranks.
  std::unique_ptr<PcInverse<Space>> make_inverse(Mat a) const {
    const bool check_spd = m_configurator->properties().needs_spd && m_adapter_options.check_input;
    const mpi::Transport transport = m_adapter_options.transport;
    // Refused also where a method sends no messages.
    if (transport == mpi::Transport::nccl) impl::message_comm<Space>(impl::comm_of(a), transport);
    int size = 1;
    MPI_Comm_size(impl::comm_of(a), &size);
    PetscBool is_taken = PETSC_FALSE;
    check(PetscObjectBaseTypeCompareAny(reinterpret_cast<PetscObject>(a), &is_taken, MATMPIAIJ, MATMPIBAIJ,
                                        ""));
    if (size > 1 && is_taken && m_adapter_options.rank_overlap != 0) {
      auto across =
          std::make_unique<DistributedPreconditioner<PetscScalar, Space>>(*m_configurator, m_adapter_options);
      if (across->is_over_ranks())
        return std::make_unique<AcrossRanksInverse<Space>>(std::move(across), check_spd, transport);
    }
    return std::make_unique<OwnRowsInverse<Space>>(m_configurator->build(), check_spd);
  }

  OptionFields fields(configurator_type& configurator) {
    OptionFields all = configurator.fields();
    all.append(OptionFields::of(m_adapter_options));
    return all;
  }

  Space m_space;
  std::string m_name;
  std::shared_ptr<configurator_type> m_configurator;
  std::shared_ptr<configurator_type> m_resolved;
  AdapterOptions m_adapter_options;
  bool m_is_new = true;
  std::unique_ptr<PcInverse<Space>> m_inverse;
  ColumnsBuffer<Space> m_x, m_y;
};

PrekondPc& data_of(PC pc) {
  return *static_cast<PrekondPc*>(pc->data);
}

// ---------------------------------------------------------------------------------------------------- the PC

PetscErrorCode apply(PC pc, Vec x, Vec y) {
  PetscFunctionBegin;
  PetscCall(guarded(PETSC_COMM_SELF, [&] {
    const ReadVec<Space> from(x);
    const WriteVec<Space> to(y);
    data_of(pc).apply(from.columns(), to.columns());
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode apply_to_several(PC pc, Mat x, Mat y) {
  PetscFunctionBegin;
  PetscCall(guarded(PETSC_COMM_SELF, [&] {
    const ReadDense<Space> from(x);
    const WriteDense<Space> to(y);
    data_of(pc).apply(from.columns(), to.columns());
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_up(PC pc) {
  PetscFunctionBegin;
  PetscCall(guarded(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), [&] {
    data_of(pc).set_up(pc->pmat, pc->flag != SAME_NONZERO_PATTERN);
    pc->ops->applytranspose = data_of(pc).inverse().is_symmetric() ? apply : nullptr;
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// Runs `work(data)`, which sets options. Where they change, the next PCSetUp is no idle one.
template <class Work>
PetscErrorCode configure(PC pc, const Work& work) {
  PetscFunctionBegin;
  PetscCall(guarded(PetscObjectComm(reinterpret_cast<PetscObject>(pc)), [&] { work(data_of(pc)); }));
  if (data_of(pc).is_new()) pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// PetscOptionItems is a pointer of another kind in older releases.
template <class Items>
PetscErrorCode set_from_options(PC pc, Items PetscOptionsObject) {
  PrekondPc& data = data_of(pc);
  PetscFunctionBegin;
  PetscCall(configure(pc, [&](PrekondPc&) {
    OptionMap options = database_options(PetscOptionsObject->options, pc->hdr.prefix ? pc->hdr.prefix : "");
    const auto name = options.find("name");
    if (name != options.end()) {
      data.set_name(to_string(name->second));
      options.erase(name);
    }
    data.set_options(options);
  }));
  if (!PetscOptionsObject->printhelp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscOptionsHeadBegin(PetscOptionsObject, "Prekond options");
  std::array<char, 4096> unused{};
  PetscCall(PetscOptionsString("-pc_prekond_name", "the method", "PCPrekondSetName", data.name().c_str(),
                               unused.data(), unused.size(), nullptr));
  for (const OptionField& field : data.fields().list())
    PetscCall(PetscOptionsString(("-pc_prekond_" + field.name).c_str(), field.doc.c_str(),
                                 "PCPrekondSetOption", to_string(field.get()).c_str(), unused.data(),
                                 unused.size(), nullptr));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// The report of the setup on all ranks.
PetscErrorCode print_report(const Report& all, PetscViewer viewer) {
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "entries: %lld, bytes: %lld\n", static_cast<long long>(all.nnz),
                                   static_cast<long long>(all.bytes)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "last setup: symbolic %g s, numeric %g s\n", all.symbolic_seconds,
                                   all.numeric_seconds));
  if (const std::string text = left_out(all); !text.empty())
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", text.c_str()));
  PetscCall(PetscViewerASCIIPrintf(viewer, "breakdowns: %lld rows\n",
                                   static_cast<long long>(all.breakdowns.count)));
  if (all.breakdowns.count > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  the first has the global index %lld, pivot %g: %s\n",
                                     static_cast<long long>(all.breakdowns.first_row),
                                     all.breakdowns.first_pivot, all.breakdowns.action.c_str()));
  for (const std::string& note : all.notes)
    PetscCall(PetscViewerASCIIPrintf(viewer, "note: %s\n", note.c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode print_option(const std::string& name, const OptionValue& value, PetscViewer viewer) {
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s=%s\n", name.c_str(), to_string(value).c_str()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/// The options in force, also those of methods that are options.
PetscErrorCode print_options(const OptionFields& fields, PetscViewer viewer) {
  PetscFunctionBegin;
  for (const OptionField& field : fields.list()) {
    PetscCall(print_option(field.name, field.get(), viewer));
    if (field.kind != "method") continue;
    for (const auto& [key, value] : field.method_options())
      PetscCall(print_option(field.name + "." + key, value, viewer));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode view(PC pc, PetscViewer viewer) {
  PetscBool is_ascii = PETSC_FALSE;
  PrekondPc& data = data_of(pc);
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_ascii));
  if (!is_ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s, %s\n", data.name().c_str(),
                                   data.is_set_up() ? data.inverse().extent() : "not set up"));
  PetscCall(print_options(data.fields_in_force(), viewer));
  if (!data.is_set_up()) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "not set up\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  Report all;
  PetscCall(guarded(PetscObjectComm(reinterpret_cast<PetscObject>(pc)),
                    [&] { all = data.inverse().report(pc->pmat); }));
  PetscCall(print_report(all, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode reset(PC pc) {
  PetscFunctionBegin;
  data_of(pc).reset();
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode destroy(PC pc) {
  PetscFunctionBegin;
  delete static_cast<PrekondPc*>(pc->data);
  pc->data = nullptr;
  const auto object = reinterpret_cast<PetscObject>(pc);
  PetscCall(PetscObjectComposeFunction(object, "PCPrekondSetName_C", nullptr));
  PetscCall(PetscObjectComposeFunction(object, "PCPrekondSetOption_C", nullptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_name(PC pc, const char name[]) {
  PetscFunctionBegin;
  PetscCall(configure(pc, [&](PrekondPc& data) { data.set_name(name); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode set_option(PC pc, const char key[], const char value[]) {
  PetscFunctionBegin;
  PetscCall(configure(pc, [&](PrekondPc& data) { data.set_options({{key, std::string(value)}}); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// ------------------------------------------------------------------------------------------- the type

PetscErrorCode create(PC pc) {
  const auto object = reinterpret_cast<PetscObject>(pc);
  PetscFunctionBegin;
  PetscCall(initialize_kokkos());
  PetscCall(guarded(PetscObjectComm(object), [&] { pc->data = new PrekondPc; }));
  pc->ops->setup = set_up;
  pc->ops->apply = apply;
  pc->ops->matapply = apply_to_several;
  pc->ops->setfromoptions = set_from_options;
  pc->ops->view = view;
  pc->ops->reset = reset;
  pc->ops->destroy = destroy;
  PetscCall(PetscObjectComposeFunction(object, "PCPrekondSetName_C", set_name));
  PetscCall(PetscObjectComposeFunction(object, "PCPrekondSetOption_C", set_option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace
}  // namespace prekond::petsc

PetscErrorCode PCRegister_Prekond(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister(PCPREKOND, prekond::petsc::create));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPrekondSetName(PC pc, const char name[]) {
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCPrekondSetName_C", (PC, const char[]), (pc, name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPrekondSetOption(PC pc, const char key[], const char value[]) {
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCPrekondSetOption_C", (PC, const char[], const char[]), (pc, key, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PetscDLLibraryRegister_prekond_petsc(void) {
  PetscFunctionBegin;
  PetscCall(PCRegister_Prekond());
  PetscFunctionReturn(PETSC_SUCCESS);
}
