// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>
#include "matrix/row_search.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "text.hpp"

namespace prekond::driver {
namespace {

namespace fs = std::filesystem;

constexpr const char* perturb = "perturb:";

bool is_model(const Settings& settings) {
  return !settings.generate.empty() || settings.values.starts_with(perturb);
}

/// The name without .mtx or .mtx.gz; nothing where it ends otherwise.
std::optional<std::string> stem_of(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string end : {".mtx", ".mtx.gz"})
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  return std::nullopt;
}

/// FOLDER/NAME.mtx, but no vectors, and FOLDER/NAME/A.mtx, plain or gzip.
std::vector<std::string> files_of_folder(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      for (const char* name : {"A.mtx", "A.mtx.gz"})
        if (fs::exists(entry.path() / name)) files.push_back((entry.path() / name).string());
    } else if (const auto stem = stem_of(entry.path())) {
      const bool is_vector = *stem == "b" || *stem == "x" || stem->ends_with("_b") || stem->ends_with("_x");
      if (!is_vector) files.push_back(entry.path().string());
    }
  }
  if (files.empty())
    throw InputError(folder.string() + ": there are no matrices: neither *.mtx[.gz] nor */A.mtx[.gz]");
  // Numbers within the names count by their values.
  std::sort(files.begin(), files.end(),
            [](const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
  return files;
}

std::vector<std::string> files_of(const std::string& values) {
  std::error_code error;
  if (fs::is_directory(values, error)) {
    try {
      return files_of_folder(values);
    } catch (const fs::filesystem_error& failed) {
      throw InputError(values + ": cannot be read: " + failed.code().message());
    }
  }
  const std::vector<std::string> files = split(values, ',');
  if (std::find(files.begin(), files.end(), "") != files.end())
    throw OptionError("--values '" + values + "' has an empty name in it");
  return files;
}

/// b.mtx next to A.mtx, or NAME_b.mtx next to NAME.mtx
std::string rhs_file_of(const std::string& matrix) {
  const fs::path path(matrix);
  const std::string stem = stem_of(path).value_or(path.filename().string());
  const fs::path plain = path.parent_path() / (stem == "A" ? "b.mtx" : stem + "_b.mtx");
  const std::string gzip = plain.string() + ".gz";
  return !fs::exists(plain) && fs::exists(gzip) ? gzip : plain.string();
}

/// NAME:SIZE,key=value,batch=N,spread=X: the batch's own options, and the generator's
ModelBatch parse_generate(const std::string& spec) {
  ModelBatch model;
  OptionMap own;
  for (const std::string& part : split(spec, ',')) {
    if (part.starts_with("batch=") || part.starts_with("spread="))
      add_pair(own, part, "--generate");
    else
      model.generate += (model.generate.empty() ? "" : ",") + part;
  }
  if (own.count("batch") == 0)
    throw OptionError("--generate " + spec + ": how many systems? Write " + spec + ",batch=N");
  OptionFields::of(model).set(own, "--generate");
  constexpr const char* stencil = "stencil3:";
  if (model.generate.starts_with(stencil))
    model.generate = "tridiagonal:" + model.generate.substr(std::string(stencil).size());
  return model;
}

/// perturb:N,spread=X
ModelBatch parse_perturb(const Settings& settings) {
  if (settings.pattern.empty())
    throw OptionError("--values " + settings.values +
                      " needs a --pattern MATRIX.mtx, whose values are perturbed");
  ModelBatch model;
  OptionMap own;
  std::string pairs = settings.values.substr(std::string(perturb).size());
  for (const std::string& part : split("batch=" + pairs, ',')) add_pair(own, part, "--values perturb:N,");
  OptionFields::of(model).set(own, "--values perturb");
  return model;
}

bool is_complex_file(const std::string& path) {
  return read_matrix_market_info(path).field == "complex";
}

template <class Scalar>
using HostMatrix = CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace>;

template <class Scalar>
void check_pattern(const std::string& name, const HostMatrix<Scalar>& a, const std::string& model_name,
                   const HostMatrix<Scalar>& model) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(name + ": all systems of a batch have one pattern, this is not that of " + model_name +
                     ": " + why);
  };
  if (a.num_rows != model.num_rows || a.num_cols != model.num_cols)
    refuse(text_of(a.num_rows, " rows and ", a.num_cols, " columns, not ", model.num_rows));
  for (std::int64_t i = 0; i < model.num_rows; ++i) {
    const auto columns = [i](const HostMatrix<Scalar>& m) {
      return std::pair(m.col_idxs.data() + m.row_ptrs(i), m.col_idxs.data() + m.row_ptrs(i + 1));
    };
    const auto [begin, end] = columns(a);
    const auto [first, last] = columns(model);
    if (!std::equal(begin, end, first, last)) refuse(text_of("row ", i, " (from 0) has other columns"));
  }
}

/// b_s = A_s 1
template <class Scalar>
struct RowSums {
  impl::batched::CsrSystems<Scalar> systems;
  MultiVector<Scalar, Space> b;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t s = index / systems.num_rows;
    const int i = static_cast<int>(index - s * systems.num_rows);
    Scalar sum = 0;
    systems.system(s).for_each_entry(i, [&](std::size_t, int, const Scalar& value) { sum += value; });
    b(i, s) = sum;
  }
};

template <class Scalar>
MultiVector<Scalar, Space> make_rhs(const Context& context, const BatchInput& input,
                                    const BatchedCsr<Scalar, Space>& a) {
  const Space& space = context.space;
  const auto b =
      allocate<MultiVector<Scalar, Space>>(space, "prekond::driver::b", a.num_rows, a.num_systems());
  if (context.settings.rhs == "ones") {
    Kokkos::deep_copy(space, b, Scalar(1));
  } else if (context.settings.rhs == "a_ones") {
    Kokkos::parallel_for(
        "prekond::driver::row_sums",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows * a.num_systems()),
        RowSums<Scalar>{a.systems(), b});
  } else {
    const auto host = Kokkos::create_mirror_view(b);
    for (std::size_t s = 0; s < input.files.size(); ++s) {
      const auto own = read_vector_market<Scalar>(rhs_file_of(input.files[s]), a.num_rows);
      std::copy_n(own.data(), own.extent(0), &host(0, s));
    }
    Kokkos::deep_copy(space, b, host);
  }
  space.fence("prekond::driver::rhs");
  return b;
}

/// The least number of a row of all systems whose diagonal or symmetry is not that of an SPD matrix; a mirror
/// is found by bisection.
template <class Scalar>
struct FirstBadRow {
  BatchedCsr<Scalar, Space> a;

  KOKKOS_FUNCTION Scalar entry(std::int64_t s, int row, int col) const {
    std::size_t low = a.row_ptrs(row), high = a.row_ptrs(row + 1);
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (a.col_idxs(middle) < col)
        low = middle + 1;
      else
        high = middle;
    }
    return low < a.row_ptrs(row + 1) && a.col_idxs(low) == col ? Scalar(a.values(low, s)) : Scalar(0);
  }
  KOKKOS_FUNCTION double diagonal(std::int64_t s, int row) const {
    return static_cast<double>(real_part(entry(s, row, row)));
  }
  KOKKOS_FUNCTION void operator()(std::int64_t index, std::int64_t& first) const {
    const std::int64_t s = index / a.num_rows;
    const int i = static_cast<int>(index - s * a.num_rows);
    bool is_good = diagonal(s, i) > 0;
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      const int j = a.col_idxs(k);
      is_good = is_good && impl::is_symmetric_pair(Scalar(a.values(k, s)), conjugate(entry(s, j, i)),
                                                   impl::diagonal_scale(diagonal(s, i), diagonal(s, j)),
                                                   symmetry_tolerance<Scalar>);
    }
    if (!is_good && index < first) first = index;
  }
};

/// \throws InputError as `solve` does for a matrix that is not SPD by its diagonal and symmetry, for the
/// first such system
template <class Scalar>
void check_spd(const Context& context, const BatchInput& input, const LoadedBatch<Scalar>& batch) {
  const BatchedCsr<Scalar, Space>& a = batch.a.matrix;
  const Space& space = context.space;
  const std::int64_t rows = a.num_rows * a.num_systems();
  std::int64_t first = rows;
  Kokkos::parallel_reduce("prekond::driver::check_spd",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, rows),
                          FirstBadRow<Scalar>{a}, Kokkos::Min<std::int64_t>(first));
  if (first >= rows) return;
  const std::int64_t s = first / a.num_rows;
  try {
    check_spd_input<Scalar, Space>(
        space, CsrView<Scalar, Space>(a.num_rows, a.num_rows, a.row_ptrs, a.col_idxs, column(a.values, s)));
  } catch (const InputError& error) {
    throw InputError(text_of(input.files.empty() ? text_of("system ", s, " (from 0)")
                                                 : input.files[static_cast<std::size_t>(s)],
                             ": ", error.what()),
                     error.row());
  }
}

template <class Scalar>
void make_of_model(const Context& context, const ModelBatch& model, LoadedBatch<Scalar>& batch) {
  Settings one;
  one.matrix = context.settings.pattern;
  one.generate = model.generate;
  one.given = context.settings.given;
  MatrixInput file = open_matrix(one);
  Problem<Scalar> problem(one);
  problem.load({one, context.processes, context.progress}, file);
  problem.check_shape();
  batch.matrix = problem.facts["matrix"];
  batch.a = perturbed_batch<Scalar, Space>(context.space, CsrView<Scalar, Space>(problem.whole),
                                           model.systems, model.perturbation);
}

template <class Scalar>
void read_files(const Context& context, const std::vector<std::string>& files, LoadedBatch<Scalar>& batch) {
  const Settings& settings = context.settings;
  const Space& space = context.space;
  Problem<Scalar> problem(settings);
  problem.name = settings.pattern.empty() ? files.front() : settings.pattern;
  context.progress.phase("reading " + problem.name);
  const HostMatrix<Scalar> model = read_matrix_market<Scalar>(problem.name);
  problem.set_size(model.num_rows, model.num_cols, model.nnz(), 0);
  problem.check_shape();
  batch.matrix = problem.facts["matrix"];
  batch.a = batched_from_matrices<Scalar, Space>(space, {CsrView<Scalar, Space>(copy_to<Space>(model))});
  batch.a.values = allocate<MultiVector<Scalar, Space>>(space, "prekond::driver::values", model.nnz(),
                                                        static_cast<std::int64_t>(files.size()));
  const auto values = Kokkos::create_mirror_view(batch.a.values);
  context.progress.phase("reading " + settings.values);
  for (std::size_t s = 0; s < files.size(); ++s) {
    const HostMatrix<Scalar> a = read_matrix_market<Scalar>(files[s]);
    check_pattern<Scalar>(files[s], a, problem.name, model);
    if (model.nnz() > 0) std::copy_n(a.values.data(), a.values.extent(0), &values(0, s));
  }
  Kokkos::deep_copy(space, batch.a.values, values);
  space.fence("prekond::driver::read_files");
  batch.a.matrix.values = batch.a.values;
}

}  // namespace

BatchInput open_batch(const Settings& settings) {
  BatchInput input;
  if (!settings.generate.empty()) {
    at_origin(settings.given, "generate", [&] {
      input.model = parse_generate(settings.generate);
      input.complex = generates_complex(input.model.generate);
    });
  } else if (is_model(settings)) {
    at_origin(settings.given, "values", [&] { input.model = parse_perturb(settings); });
    input.complex = is_complex_file(settings.pattern);
  } else {
    input.files = at_origin(settings.given, "values", [&] { return files_of(settings.values); });
    input.complex = is_complex_file(input.files.front()) ||
                    (!settings.pattern.empty() && is_complex_file(settings.pattern));
  }
  if (settings.rhs == "files" && input.files.empty())
    settings.refuse("rhs", "--rhs files is for --values FILE.mtx,...|FOLDER; give --rhs ones or a_ones");
  return input;
}

std::vector<std::string> batch_inputs(const Settings& settings) {
  std::vector<std::string> inputs;
  if (!settings.pattern.empty()) inputs.push_back(settings.pattern);
  if (settings.values.empty() || is_model(settings)) return inputs;
  for (const std::string& file : files_of(settings.values)) {
    inputs.push_back(file);
    if (settings.rhs == "files") inputs.push_back(rhs_file_of(file));
  }
  return inputs;
}

template <class Scalar>
LoadedBatch<Scalar> load_batch(const Context& context, const BatchInput& input) {
  const Kokkos::Timer timer;
  LoadedBatch<Scalar> batch;
  if (input.files.empty())
    make_of_model<Scalar>(context, input.model, batch);
  else
    read_files<Scalar>(context, input.files, batch);
  batch.b = make_rhs<Scalar>(context, input, batch.a.matrix);
  if (context.settings.solver == "cg") check_spd(context, input, batch);
  batch.scaling = scale_batch<Scalar, Space>(context.space, batch.a.values, batch.b);
  batch.matrix["seconds"] = timer.seconds();
  return batch;
}

template LoadedBatch<double> load_batch<double>(const Context&, const BatchInput&);
template LoadedBatch<Complex> load_batch<Complex>(const Context&, const BatchInput&);

}  // namespace prekond::driver
