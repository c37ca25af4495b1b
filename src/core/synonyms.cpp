// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The words that other packages and papers have for what Prekond has under another name, and the search for
/// a name that is not quite right.
#include <prekond/core/options.hpp>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace prekond {
namespace {

using Words = std::vector<std::string>;

struct Synonyms {
  std::string name;
  Words words;
};

/// Words for the same algorithm: each means the name.
const std::vector<Synonyms>& same_algorithms() {
  static const std::vector<Synonyms> all = {
      {"none", {"identity"}},
      {"jacobi", {"diagonal", "diag", "point_jacobi"}},
      {"block_jacobi", {"bjacobi"}},
      {"schwarz", {"asm", "additive_schwarz", "ras", "restricted_additive_schwarz"}},
      {"multicolor_gs", {"gs", "gauss_seidel", "multicolor_gauss_seidel", "mtgs"}},
      {"multicolor_ssor", {"ssor", "sgs", "symmetric_gauss_seidel", "mc_ssor"}},
      {"ilu0", {"ilu", "incomplete_lu"}},
      {"ic0", {"ic", "icc", "ichol", "incomplete_cholesky"}},
      {"mic_gustafsson", {"gustafsson", "mic", "mic0", "modified_incomplete_cholesky"}},
      {"mic_robert", {"robert"}},
      {"block_ilu0", {"block_ilu", "bilu", "bilu0"}},
      {"adaptive_fsai", {"afsai"}},
      {"fsai", {"factorized_sparse_approximate_inverse"}},
      {"spai", {"sparse_approximate_inverse"}},
      {"isai", {"incomplete_sparse_approximate_inverse"}},
      {"ls_polynomial", {"least_squares_polynomial"}},
      {"chebyshev", {"cheby"}},
      {"amg", {"multigrid", "algebraic_multigrid", "sa_amg", "smoothed_aggregation"}},
      {"cg", {"pcg", "conjugate_gradient", "conjugate_gradients"}},
      {"bicgstab", {"bcgs", "bicg_stabilized", "biconjugate_gradient_stabilized"}},
      {"gmres", {"pgmres", "generalized_minimal_residual"}},
      {"fgmres", {"flexible_gmres", "flexgmres"}},
      {"idr", {"idrs"}},
      {"rcm", {"reverse_cuthill_mckee", "symrcm"}},
      {"nd", {"nested_dissection"}},
  };
  return all;
}

/// Packages, and algorithms that Prekond does not have: a hint names the nearest kin.
const std::vector<Synonyms>& kindred_algorithms() {
  static const std::vector<Synonyms> all = {
      {"amg",
       {"boomeramg", "gamg", "muelu", "hypre", "ml", "amgx", "pyamg", "ruge_stuben", "mg", "gmg", "ams"}},
      {"schwarz", {"schur", "gasm", "domain_decomposition", "dd", "ddm", "feti", "bddc", "fieldsplit"}},
      {"multicolor_gs", {"sor", "relaxation", "eisenstat", "symmetric_sor", "kaczmarz"}},
      {"multicolor_ssor", {"sor", "relaxation", "eisenstat", "symmetric_sor"}},
      {"jacobi", {"relaxation"}},
      {"ilut", {"lu", "direct", "superlu", "umfpack", "mumps", "klu", "pardiso", "spilu", "ilutp", "pilut"}},
      {"iluk", {"euclid", "riluk", "ilu1", "ilu2"}},
      {"ilu0", {"riluk"}},
      {"ic0", {"cholesky", "cholmod"}},
      {"ict", {"cholesky", "cholmod", "ict_ichol"}},
      {"ick", {"ic1", "ic2"}},
      {"mic_robert", {"ajiz_jennings", "jennings_malik", "robust_ic", "kaporin", "tismenetsky"}},
      {"adaptive_fsai", {"parasails", "ainv", "approximate_inverse", "sainv"}},
      {"fsai", {"parasails", "approximate_inverse"}},
      {"spai", {"approximate_inverse"}},
      {"cg",
       {"minres", "symmlq", "cr", "conjugate_residual", "fcg", "flexible_cg", "pipecg", "cgne", "cgnr",
        "lsqr"}},
      {"bicgstab", {"bicg", "cgs", "bcgsl", "bicgstabl", "tfqmr", "qmr", "qmrcgstab", "tfqmrr"}},
      {"idr", {"bicg", "cgs", "bcgsl", "bicgstabl", "tfqmr", "qmr"}},
      {"gmres",
       {"minres", "symmlq", "cr", "conjugate_residual", "lgmres", "dgmres", "gcrotmk", "cgne", "cgnr", "lsqr",
        "lsmr", "direct"}},
      {"fgmres", {"gcr", "lgmres", "gcrotmk", "fcg", "flexible_cg"}},
      {"richardson",
       {"preonly", "jacobi", "gauss_seidel", "multigrid", "amg", "chebyshev", "iterative_refinement"}},
  };
  return all;
}

/// Without case, and without the characters that stand between the parts of a name: "ILU(0)" is "ilu0".
std::string folded(const std::string& word) {
  std::string text;
  for (const char c : word)
    if (std::string_view("_- ()").find(c) == std::string_view::npos)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool has_word(const Synonyms& synonyms, const std::string& folded_word) {
  return std::any_of(synonyms.words.begin(), synonyms.words.end(),
                     [&](const std::string& word) { return folded(word) == folded_word; });
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// A word that is a part of the other one is two letters away at most.
std::size_t distance_of_words(const std::string& a, const std::string& b) {
  constexpr std::size_t of_part = 2, shortest_part = 3;
  const bool is_part = (a.size() >= shortest_part && b.find(a) != b.npos) ||
                       (b.size() >= shortest_part && a.find(b) != a.npos);
  return is_part ? std::min(of_part, edit_distance(a, b)) : edit_distance(a, b);
}

/// The words are folded. A group of options, as "solve" of "solve.method", is as near as its members.
std::size_t distance(const std::string& word, const std::string& name) {
  std::size_t least = distance_of_words(word, name);
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
    least = std::min(least, distance_of_words(word, name.substr(0, dot)));
  return least;
}

constexpr std::size_t most_named = 3;

/// The name that the word means, or those that are kin of it; without any, the nearest ones by their letters.
Words nearest_names(const std::string& word, const Words& names) {
  const std::string wanted = folded(word);
  if (const std::string* meant = find_name(word, names); meant && *meant != word) return {*meant};
  Words nearest;
  for (const Synonyms& synonyms : kindred_algorithms())
    if (has_word(synonyms, wanted) && std::find(names.begin(), names.end(), synonyms.name) != names.end())
      nearest.push_back(synonyms.name);
  if (!nearest.empty()) return nearest;
  std::vector<std::pair<std::size_t, std::string>> all;
  for (const std::string& name : names)
    if (name != word) all.emplace_back(distance(wanted, folded(name)), name);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [letters, name] : all) {
    const bool is_member = letters == 0;  // of a group that is named: all are
    if (!is_member && (nearest.size() >= most_named || letters > all.front().first * 4 / 3)) break;
    if (std::find(nearest.begin(), nearest.end(), name) == nearest.end()) nearest.push_back(name);
  }
  return nearest;
}

}  // namespace

const std::string* find_name(const std::string& word, const Words& names) {
  const std::string wanted = folded(word);
  const auto find = [&](const auto& is_meant) -> const std::string* {
    const auto found = std::find_if(names.begin(), names.end(), is_meant);
    return found == names.end() ? nullptr : &*found;
  };
  if (const auto* same = find([&](const std::string& name) { return name == word; })) return same;
  if (const auto* same = find([&](const std::string& name) { return folded(name) == wanted; })) return same;
  for (const Synonyms& synonyms : same_algorithms())
    if (has_word(synonyms, wanted))
      return find([&](const std::string& name) { return name == synonyms.name; });
  return nullptr;
}

std::vector<std::string> synonyms_of(const std::string& name) {
  for (const Synonyms& synonyms : same_algorithms())
    if (synonyms.name == name) return synonyms.words;
  return {};
}

std::string did_you_mean(const std::string& word, const Words& names) {
  const Words nearest = nearest_names(word, names);
  if (nearest.empty()) return "";
  std::string text = "; did you mean '";
  for (std::size_t k = 0; k < nearest.size(); ++k)
    text += (k == 0 ? "" : k + 1 < nearest.size() ? "', '" : "' or '") + nearest[k];
  return text + "'?";
}

}  // namespace prekond
