// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/precond/registry.hpp>

#include <cstdio>

#include "commands.hpp"
#include "kokkos_session.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// The description of an algorithm or a generator.
struct Entry {
  std::string name;
  std::string summary;
  std::string paper = {};
  std::string note = {};
  std::string aliases = {};  ///< "ick (level=1), mic0 (modified=true)"
  bool is_alias = false;     ///< of another entry
  std::vector<OptionField> fields;
  std::shared_ptr<void> keeper;  ///< the object that the fields refer to
};

struct Section {
  std::string kind;      ///< "preconditioners"
  std::string singular;  ///< "preconditioner"
  std::vector<Entry> entries;
};

template <class Base>
std::string note_of(const RegistryEntry<Base>& entry) {
  if (entry.properties.needs_spd) return "for symmetric positive definite matrices";
  return entry.properties.symmetry == Symmetry::nonsymmetric
             ? "for general matrices; it is not symmetric, which conjugate gradients need"
             : "";
}

/// "level=1, modified=true"
std::string preset_text(const OptionMap& preset) {
  std::string text;
  for (const auto& [name, value] : preset) text += (text.empty() ? "" : ", ") + name + "=" + to_string(value);
  return text;
}

/// "ick (level=1), mic0 (modified=true)"
template <class Base>
std::string aliases_of(const Registry<Base>& registry, const std::string& name) {
  std::string text;
  for (const auto& entry : registry)
    if (entry.alias_of == name)
      text += (text.empty() ? "" : ", ") + entry.name + " (" + preset_text(entry.preset) + ")";
  return text;
}

template <class Base>
std::vector<Entry> entries_of(const Registry<Base>& registry) {
  std::vector<Entry> entries;
  for (const auto& known : registry) {
    const std::shared_ptr<Configurator<Base>> configurator = known.configure()->resolved();
    std::string note = note_of(known);
    if (!known.alias_of.empty())
      note = "an alias of " + known.alias_of + " with " + preset_text(known.preset) +
             (note.empty() ? "" : "; " + note);
    entries.push_back({.name = known.name,
                       .summary = known.summary,
                       .paper = known.paper,
                       .note = note,
                       .aliases = aliases_of(registry, known.name),
                       .is_alias = !known.alias_of.empty(),
                       .fields = configurator->fields().list(),
                       .keeper = configurator});
  }
  return entries;
}

std::vector<Entry> generator_entries() {
  std::vector<Entry> entries;
  for (const auto& info : generator_list()) {
    entries.push_back({.name = info.name,
                       .summary = info.summary,
                       .note = "written " + info.name + ":SIZE[,key=value...]",
                       .fields = info.options.list(),
                       .keeper = info.defaults});
  }
  return entries;
}

std::vector<Section> sections() {
  return {{"preconditioners", "preconditioner", entries_of(preconditioner_registry<double, Space>())},
          {"solvers", "solver", entries_of(solver_registry<double, Space>())},
          {"generators", "generator", generator_entries()}};
}

void print_names(const Section& section, const std::string& margin) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& entry : section.entries)
    if (!entry.is_alias)
      rows.push_back({margin + entry.name,
                      entry.summary + (entry.aliases.empty() ? "" : "; aliases: " + entry.aliases)});
  print_table(rows);
}

void print_entry(const Entry& entry) {
  std::printf("%s: %s\n", entry.name.c_str(), entry.summary.c_str());
  if (!entry.paper.empty()) std::printf("paper: %s\n", entry.paper.c_str());
  if (!entry.note.empty()) std::printf("%s\n", entry.note.c_str());
  if (!entry.aliases.empty()) std::printf("aliases: %s\n", entry.aliases.c_str());
  if (entry.fields.empty()) {
    std::printf("no options\n");
    return;
  }
  std::printf("options, their defaults and ranges:\n");
  for (const auto& field : entry.fields) {
    const std::string range = field.kind == "bool" ? "true | false" : field.range;
    std::printf("  %s=%s  (%s)\n      %s\n", field.name.c_str(), to_string(field.get()).c_str(),
                range.c_str(), field.doc.c_str());
  }
}

const Section& find_section(const std::vector<Section>& all, const std::string& kind) {
  std::vector<std::string> kinds;
  for (const auto& section : all) {
    if (section.kind == kind) return section;
    kinds.push_back(section.kind);
  }
  throw OptionError("'list' knows preconditioners, solvers and generators, not '" + kind +
                    "'; did you mean '" + nearest_word(kind, kinds) + "'?");
}

const Entry& find_entry(const Section& section, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : section.entries) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw OptionError("there is no " + section.singular + " '" + name + "'; did you mean '" +
                    nearest_word(name, names) + "'? ('prekond list " + section.kind + "' lists them)");
}

}  // namespace

void list_command(const CommandLine& line) {
  const auto all = sections();
  if (line.kind.empty()) {
    for (const auto& section : all) {
      std::printf("%s:\n", section.kind.c_str());
      print_names(section, "  ");
    }
  } else if (line.name.empty()) {
    print_names(find_section(all, line.kind), "");
  } else {
    print_entry(find_entry(find_section(all, line.kind), line.name));
  }
}

}  // namespace prekond::driver
