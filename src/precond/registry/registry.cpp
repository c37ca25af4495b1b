// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/amg.hpp>
#include <prekond/precond/automatic.hpp>
#include <prekond/precond/block_ilu0.hpp>
#include <prekond/precond/dynamic_spai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/ic.hpp>
#include <prekond/precond/ilu.hpp>
#include <prekond/precond/ilut.hpp>
#include <prekond/precond/impl/registered_methods.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/multicolor.hpp>
#include <prekond/precond/none.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/par_ilut.hpp>
#include <prekond/precond/polynomial.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/schwarz.hpp>
#include <prekond/precond/several_devices.hpp>
#include <prekond/precond/spai.hpp>

#include "core/instantiate.hpp"

#include <utility>

namespace prekond {

/// These have linkage, because this file is compiled once for each precision, and the objects share one
/// state: a registry of single precision looks up methods in that of double precision.
namespace impl::registered {

template <class Scalar, class Space>
using Methods = Registry<MatrixPreconditioner<Scalar, Space>>;

template <class Scalar, class Space>
Methods<Scalar, Space> single_methods() {
  using Base = MatrixPreconditioner<Scalar, Space>;
  Methods<Scalar, Space> entries = {
      registry_entry<Base, None<Scalar, Space>>(),
      registry_entry<Base, Jacobi<Scalar, Space>>(),
      registry_entry<Base, Fsai<Scalar, Space>>(),
      registry_entry<Base, AdaptiveFsai<Scalar, Space>>(),
  };
  if constexpr (!is_complex<Scalar>) {
    entries.push_back(registry_entry<Base, NonsymmetricFsai<Scalar, Space>>());
    entries.push_back(registry_entry<Base, Spai<Scalar, Space>>());
    entries.push_back(registry_entry<Base, DynamicSpai<Scalar, Space>>());
    entries.push_back(registry_entry<Base, Isai<Scalar, Space>>());
    entries.push_back(registry_entry<Base, MulticolorGs<Scalar, Space>>());
    entries.push_back(registry_alias<Base, MulticolorGs<Scalar, Space>>(
        "multicolor_ssor", "symmetric over-relaxation over the colours, MC-SSOR(k)",
        {{"direction", std::string("symmetric")}}));
    entries.push_back(registry_entry<Base, MulticolorBlockGs<Scalar, Space>>());
    entries.push_back(registry_entry<Base, MulticolorIlu0<Scalar, Space>>());
    entries.push_back(registry_entry<Base, Ilu<Scalar, Space>>());
    entries.push_back(registry_alias<Base, Ilu<Scalar, Space>>(
        "iluk", "ILU(k), by default ILU(1): incomplete L D U with fill up to level k", {{"level", 1}}));
    entries.push_back(registry_entry<Base, Ic<Scalar, Space>>());
    entries.push_back(registry_alias<Base, Ic<Scalar, Space>>(
        "ick", "IC(k), by default IC(1): incomplete L D L^T with fill up to level k", {{"level", 1}}));
    entries.push_back(
        registry_alias<Base, Ic<Scalar, Space>>("mic_gustafsson",
                                                "MIC(k), by default MIC(0): IC whose dropped entries are "
                                                "added to the diagonal, so that row sums are kept",
                                                {{"kind", std::string("mic_gustafsson")}}));
    entries.push_back(
        registry_alias<Base, Ic<Scalar, Space>>("mic_robert",
                                                "MIC(k), by default MIC(0): IC whose dropped entries are "
                                                "added to the diagonal in size, so that it exists "
                                                "for every symmetric positive definite matrix",
                                                {{"kind", std::string("mic_robert")}}));
    entries.push_back(registry_entry<Base, ParIlu<Scalar, Space>>());
    entries.push_back(registry_alias<Base, ParIlu<Scalar, Space>>(
        "par_ic", "ParIC: incomplete L D L^T on the pattern of IC(k), by sweeps over all entries at once",
        {{"kind", "ic"}}));
    entries.push_back(registry_entry<Base, ParIlut<Scalar, Space>>());
    entries.push_back(registry_entry<Base, Ilut<Scalar, Space>>());
    entries.push_back(registry_alias<Base, Ilut<Scalar, Space>>(
        "ict", "ICT(p, tau): incomplete L D L^T on a pattern found by the sizes of its entries",
        {{"kind", "ic"}}));
    entries.push_back(registry_entry<Base, BlockIlu0<Scalar, Space>>());
  }
  using Polynomials = PolynomialPreconditioner<Scalar, Space>;
  entries.push_back(registry_entry<Base, Polynomials>());
  entries.push_back(registry_alias<Base, Polynomials>(
      "ls_polynomial", "least-squares polynomial in D^-1 A on an interval from a few Lanczos steps (SPD)",
      {{"kind", std::string("least_squares")}}));
  entries.push_back(registry_alias<Base, Polynomials>(
      "chebyshev", "Chebyshev iteration in D^-1 A, a smoother, or a preconditioner (SPD)",
      PolynomialOptions::chebyshev_preset()));
  entries.push_back(registry_alias<Base, Polynomials>(
      "neumann", "Neumann series, sum of (I - omega D^-1 A)^j omega D^-1 for j <= k",
      PolynomialOptions::neumann_preset()));
  return entries;
}

/// Methods that are composed of others, which they find by name.
template <class Scalar, class Space>
Methods<Scalar, Space> composed_methods() {
  using Base = MatrixPreconditioner<Scalar, Space>;
  return {
      registry_entry<Base, Schwarz<Scalar, Space>>(),
      registry_alias<Base, Schwarz<Scalar, Space>>("block_jacobi", SchwarzOptions::summary_without_overlap,
                                                   {{"overlap", std::int64_t(0)}}),
      registry_entry<Base, Matched<Scalar, Space>>(),
      registry_entry<Base, Amg<Scalar, Space>>(),
      registry_entry<Base, Automatic<Scalar, Space>>(),
  };
}

/// The methods that composed ones are told of while their own entries are made by this thread. Their defaults
/// are among these; all others are known once the registry is complete.
template <class Space>
thread_local const Methods<double, Space>* known_so_far = nullptr;

template <class Space>
struct KnowsWhile {
  explicit KnowsWhile(const Methods<double, Space>& methods) { known_so_far<Space> = &methods; }
  ~KnowsWhile() { known_so_far<Space> = nullptr; }
};

template <class Space>
const Methods<double, Space>& known_methods() {
  return known_so_far<Space> ? *known_so_far<Space> : preconditioner_registry<double, Space>();
}

/// The registry, of which the single methods come first.
template <class Scalar, class Space>
Methods<Scalar, Space> all_methods() {
  Methods<Scalar, Space> entries = single_methods<Scalar, Space>();
  if constexpr (!is_complex<Scalar>) {
    const Methods<double, Space> known = single_methods<double, Space>();
    const KnowsWhile<Space> scope(known);
    for (auto& entry : composed_methods<Scalar, Space>()) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace impl::registered

template <class Scalar, class Space>
const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry() {
  static const impl::registered::Methods<Scalar, Space> registry =
      impl::registered::all_methods<Scalar, Space>();
  return registry;
}

template <class Scalar, class Space>
std::vector<std::string> methods_over_devices() {
  std::vector<std::string> names;
  for (const auto& entry : preconditioner_registry<Scalar, Space>())
    if (entry.configure()->build()->reach().levels >= 0) names.push_back(entry.name);
  return names;
}

namespace impl {

template <class Space>
MethodTable registered_method_table(const std::string& kind) {
  return method_table(registered::known_methods<Space>(), kind);
}

template <class Space>
Properties registered_method_properties(const MethodChoice& choice, const std::string& kind) {
  return configured(registered::known_methods<Space>(), choice, kind)->properties();
}

template <class Scalar, class Space>
std::unique_ptr<MatrixPreconditioner<Scalar, Space>> make_registered_method(const MethodChoice& choice,
                                                                            const std::string& kind) {
  return configured(preconditioner_registry<Scalar, Space>(), choice, kind)->build();
}

template <class Scalar, class Space>
std::unique_ptr<Configurator<MatrixPreconditioner<Scalar, Space>>> configured_registered_method(
    const MethodChoice& choice, const std::string& kind) {
  return configured(preconditioner_registry<Scalar, Space>(), choice, kind);
}

}  // namespace impl

#define PREKOND_REGISTRY(Scalar, Space)                                                                      \
  template const Registry<MatrixPreconditioner<Scalar, Space>>& preconditioner_registry<Scalar, Space>();    \
  template std::vector<std::string> methods_over_devices<Scalar, Space>();                                   \
  template std::unique_ptr<MatrixPreconditioner<Scalar, Space>> impl::make_registered_method<Scalar, Space>( \
      const MethodChoice&, const std::string&);                                                              \
  template std::unique_ptr<Configurator<MatrixPreconditioner<Scalar, Space>>>                                \
  impl::configured_registered_method<Scalar, Space>(const MethodChoice&, const std::string&);
PREKOND_INSTANTIATE(PREKOND_REGISTRY)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_REGISTRY)
#define PREKOND_REGISTERED_METHODS(Space)                                        \
  template MethodTable impl::registered_method_table<Space>(const std::string&); \
  template Properties impl::registered_method_properties<Space>(const MethodChoice&, const std::string&);
PREKOND_INSTANTIATE_SPACES(PREKOND_REGISTERED_METHODS)

}  // namespace prekond
