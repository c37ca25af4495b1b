// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/generate.hpp>

#include "core/instantiate.hpp"
#include "matrix/generators/common.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

namespace prekond {
namespace {

template <class Scalar, class Space>
struct Generator {
  using Make = std::function<GeneratedMatrix<Scalar, Space>(const Space&, std::int64_t, const OptionMap&,
                                                            const ChooseRows&)>;
  GeneratorInfo info;
  Make make;
  bool makes_rows;  ///< some without the others; else the choice is not looked at
};

constexpr const char* magnetic3d_name = "magnetic3d";

/// `make(space, size, options[, choose])`
template <class Scalar, class Space, class Options, class... Choose>
Generator<Scalar, Space> describe(const std::string& name, const std::string& summary,
                                  GeneratedMatrix<Scalar, Space> (*make)(const Space&, std::int64_t,
                                                                         const Options&, Choose...)) {
  constexpr bool makes_rows = sizeof...(Choose) > 0;
  const auto defaults = std::make_shared<Options>();
  GeneratorInfo info{name, summary, OptionFields::of(*defaults), defaults};
  const auto with_options = [name, make](const Space& space, std::int64_t size, const OptionMap& values,
                                         const ChooseRows& choose) {
    Options options;
    OptionFields::of(options).set(values, name);
    if constexpr (makes_rows)
      return make(space, size, options, choose);
    else
      return make(space, size, options);
  };
  return {info, with_options, makes_rows};
}

/// The generators whose matrices are complex.
template <class Scalar, class Space>
std::vector<Generator<Scalar, Space>> complex_generators() {
  return {describe<Scalar, Space>(
      magnetic3d_name,
      "7-point Laplacian with random phases (magnetic field) on SIZE^3 nodes, complex, Hermitian",
      generators::magnetic3d<Scalar, Space>)};
}

/// The generators whose matrices are real.
template <class Scalar, class Space>
std::vector<Generator<Scalar, Space>> all_generators() {
  using namespace generators;
  const auto entry = [](const char* name, const char* summary, auto make) {
    return describe<Scalar, Space>(name, summary, make);
  };
  return {
      entry("poisson2d", "5-point Laplacian on SIZE^2 nodes", poisson2d<Scalar, Space>),
      entry("poisson3d", "7-point Laplacian on SIZE^3 nodes", poisson3d<Scalar, Space>),
      entry("anisotropic2d", "5-point -u_xx - epsilon u_yy on SIZE^2 nodes", anisotropic2d<Scalar, Space>),
      entry("tridiagonal", "-1, 2, -1 in SIZE rows", tridiagonal<Scalar, Space>),
      entry("convection_diffusion3d", "upwind convection and diffusion on SIZE^3 nodes, nonsymmetric",
            convection_diffusion3d<Scalar, Space>),
      entry("elasticity3d", "linear elasticity on SIZE^3 nodes, tetrahedra, random Young's modulus",
            elasticity3d<Scalar, Space>),
      entry("circuit", "resistor network of SIZE^2 nodes, power-law degrees, a few very long rows",
            circuit<Scalar, Space>),
      entry("irregular3d",
            "random matrix on SIZE^3 nodes with given mean and longest row, diagonally dominant",
            irregular3d<Scalar, Space>),
      entry("stretched3d", "7-point Laplacian on SIZE^3 cells, each RATIO times as wide as the one before",
            stretched3d<Scalar, Space>),
  };
}

std::vector<std::string> generator_names() {
  std::vector<std::string> names;
  for (const auto& generator : generator_list()) names.push_back(generator.name);
  return names;
}

/// The generator's name of `NAME:SIZE...`, as it is listed where it is known.
std::string parse_name(const std::string& text) {
  const std::string name = text.substr(0, text.find_first_of(":,"));
  const auto names = generator_names();
  const std::string* found = find_name(name, names);
  return found ? *found : name;
}

struct Spec {
  std::string name;
  std::string size;
  OptionMap options;
};

/// Splits `NAME:SIZE[,key=value...]`.
Spec parse_spec(const std::string& text) {
  Spec spec;
  std::size_t end = std::min(text.find(','), text.size());
  const std::size_t colon = std::min(text.find(':'), end);
  spec.name = parse_name(text);
  if (colon < end) spec.size = text.substr(colon + 1, end - colon - 1);
  while (end < text.size()) {
    const std::size_t begin = end + 1;
    end = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, end - begin);
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      throw OptionError("generator '" + spec.name + "': expected key=value, found '" + pair + "'");
    if (!spec.options.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second)
      throw OptionError("generator '" + spec.name + "': option '" + pair.substr(0, equals) +
                        "' is given twice");
  }
  return spec;
}

std::int64_t parse_size(const Spec& spec) {
  if (spec.size.empty())
    throw OptionError("generator '" + spec.name + "' needs a size: " + spec.name + ":SIZE");
  std::int64_t size = 0;
  const char* end = spec.size.data() + spec.size.size();
  const auto result = std::from_chars(spec.size.data(), end, size);
  if (result.ec == std::errc::result_out_of_range && result.ptr == end && spec.size[0] != '-')
    return std::numeric_limits<std::int64_t>::max();
  if (result.ec != std::errc() || result.ptr != end || size <= 0)
    throw OptionError("generator '" + spec.name + "': SIZE is a positive whole number, not '" + spec.size +
                      "'");
  return size;
}

}  // namespace

#if !defined(PREKOND_ONLY_SINGLE)
std::vector<GeneratorInfo> generator_list() {
  std::vector<GeneratorInfo> list;
  for (const auto& generator : all_generators<double, Kokkos::DefaultExecutionSpace>())
    list.push_back(generator.info);
  for (const auto& generator : complex_generators<Kokkos::complex<double>, Kokkos::DefaultExecutionSpace>())
    list.push_back(generator.info);
  return list;
}

bool generates_complex(const std::string& spec) {
  return parse_name(spec) == magnetic3d_name;
}

bool generates_rows(const std::string& spec) {
  for (const auto& generator : all_generators<double, Kokkos::DefaultExecutionSpace>())
    if (generator.info.name == parse_name(spec)) return generator.makes_rows;
  return false;
}
#endif

/// \throws OptionError where none of real matrices has this name
template <class Scalar, class Space>
Generator<Scalar, Space> real_generator(const Spec& spec) {
  for (const auto& generator : all_generators<Scalar, Space>())
    if (generator.info.name == spec.name) return generator;
  if (generates_complex(spec.name))
    throw OptionError("generator '" + spec.name + "' makes complex matrices; a real one is wanted here");
  throw OptionError("no generator is called '" + spec.name + "'" +
                    did_you_mean(spec.name, generator_names()));
}

/// The same matrix in complex scalars.
template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> as_complex(const Space& space,
                                          const GeneratedMatrix<real_type_t<Scalar>, Space>& a) {
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::generate::complex_values", a.nnz());
  const auto real = a.values;
  Kokkos::parallel_for(
      "prekond::generate::as_complex",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz()),
      KOKKOS_LAMBDA(std::int64_t k) { values(k) = Scalar(real(k)); });
  return GeneratedMatrix<Scalar, Space>(a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, values);
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> generate(const Space& space, const std::string& text) {
  const Spec spec = parse_spec(text);
  if constexpr (is_complex<Scalar>) {
    for (const auto& generator : complex_generators<Scalar, Space>())
      if (generator.info.name == spec.name) return generator.make(space, parse_size(spec), spec.options, {});
    return as_complex<Scalar, Space>(space, generate<real_type_t<Scalar>, Space>(space, text));
  } else {
    return real_generator<Scalar, Space>(spec).make(space, parse_size(spec), spec.options, {});
  }
}

template <class Scalar, class Space>
GeneratedMatrix<Scalar, Space> generate_rows(const Space& space, const std::string& text,
                                             const ChooseRows& choose) {
  const Spec spec = parse_spec(text);
  const Generator<Scalar, Space> generator = real_generator<Scalar, Space>(spec);
  if (!generator.makes_rows)
    throw OptionError("generator '" + spec.name + "' makes all rows at once; take generate()");
  return generator.make(space, parse_size(spec), spec.options, choose);
}

#define PREKOND_GENERATE(Scalar, Space) \
  template GeneratedMatrix<Scalar, Space> generate<Scalar, Space>(const Space&, const std::string&);
#define PREKOND_GENERATE_ROWS(Scalar, Space)                                                             \
  template GeneratedMatrix<Scalar, Space> generate_rows<Scalar, Space>(const Space&, const std::string&, \
                                                                       const ChooseRows&);
PREKOND_INSTANTIATE(PREKOND_GENERATE_ROWS)
PREKOND_INSTANTIATE(PREKOND_GENERATE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_GENERATE)

}  // namespace prekond
