// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The engine of builds without libFuzzer: replays inputs, then makes new ones from a fixed seed.
///
///     fuzz_TARGET [--seconds S] [--runs N] [--seed K] [--dict FILE] [FILE|FOLDER]...
///
/// The files given, and those of the folders, are replayed; then their mutations are tried, for S seconds or
/// N inputs. The input of a failure is written to crash-TARGET-NUMBER.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <vector>

#include "fuzz/fuzz_input.hpp"

namespace prekond::fuzz {
namespace {

using Bytes = std::string;

constexpr unsigned seconds_of_input = 120;  ///< an input that takes longer is a finding

std::string crash_file;
Bytes current;

/// The end of a process that fails: only what a signal handler may call.
void keep_input(int signal) {
  std::signal(signal, SIG_DFL);
  if (FILE* file = std::fopen(crash_file.c_str(), "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  std::fprintf(stderr, "prekond fuzz: signal %d; the input is in %s, which is replayed as an argument\n",
               signal, crash_file.c_str());
  std::raise(signal);
}

void run(const Bytes& input) {
  current = input;
  alarm(seconds_of_input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
  alarm(0);
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The files of the arguments, those of a folder in the order of their names.
std::vector<Bytes> read_all(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    if (!std::filesystem::is_directory(path))
      files.emplace_back(path);
    else
      for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const auto& file : files) inputs.push_back(read(file));
  return inputs;
}

/// The words of a dictionary of libFuzzer's: one in quotes a line, \xAB for a byte.
std::vector<Bytes> read_words(const std::string& path) {
  std::vector<Bytes> words;
  std::istringstream lines(read(path));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('"')) continue;
    Bytes word;
    for (std::size_t k = 1; k + 1 < line.size(); ++k) {
      if (line[k] == '\\' && line[k + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(k + 2, 2), nullptr, 16));
        k += 3;
      } else {
        k += line[k] == '\\';
        word += line[k];
      }
    }
    words.push_back(word);
  }
  return words;
}

class Mutator {
 public:
  Mutator(std::vector<Bytes> inputs, std::vector<Bytes> words, unsigned seed)
      : m_inputs(std::move(inputs)), m_words(std::move(words)), m_random(seed) {}

  Bytes operator()() {
    if (m_inputs.empty() || (m_words.empty() && below(2) == 0)) return noise(1 + below(200));
    Bytes text = m_inputs[below(m_inputs.size())];
    for (std::size_t steps = 1 + below(1 + below(6)); steps > 0; --steps) mutate(text);
    if (text.size() > 4096) text.resize(4096);
    return text;
  }

 private:
  std::size_t below(std::size_t count) { return m_random() % count; }

  Bytes noise(std::size_t size) {
    Bytes bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  void mutate(Bytes& text) {
    const std::size_t at = below(text.size() + 1), length = 1 + below(12);
    const Bytes& other = m_inputs[below(m_inputs.size())];
    const std::size_t kind = below(m_words.empty() ? 6 : 9);
    if (kind == 0 && at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
    if (kind == 1 && at < text.size()) text[at] = static_cast<char>(below(256));
    if (kind == 2) text.erase(at, length);
    if (kind == 3) text.insert(at, text, below(text.size() + 1), 2 * length);
    if (kind == 4) text.insert(at, other, below(other.size() + 1), 4 * length);
    if (kind == 5) text.insert(at, noise(length));
    if (kind == 6) text.insert(at, m_words[below(m_words.size())]);
    if (kind == 7) text.replace(at, length, m_words[below(m_words.size())]);
    if (kind == 8) text.insert(at, std::to_string(m_random() >> below(32)));
  }

  std::vector<Bytes> m_inputs, m_words;
  std::mt19937 m_random;
};

struct Options {
  double seconds = 0;
  std::int64_t runs = 0;
  unsigned seed = 1;
  std::vector<Bytes> words;
  std::vector<std::string> paths;
};

Options options_of(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const bool has_value = k + 1 < arguments.size();
    if (arguments[k] == "--seconds" && has_value)
      options.seconds = std::stod(arguments[++k]);
    else if (arguments[k] == "--runs" && has_value)
      options.runs = std::stoll(arguments[++k]);
    else if (arguments[k] == "--seed" && has_value)
      options.seed = static_cast<unsigned>(std::stoul(arguments[++k]));
    else if (arguments[k] == "--dict" && has_value)
      options.words = read_words(arguments[++k]);
    else
      options.paths.push_back(arguments[k]);
  }
  return options;
}

void fuzz(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const std::vector<Bytes> inputs = read_all(options.paths);
  for (const Bytes& input : inputs) run(input);
  Mutator mutated(inputs, options.words, options.seed);
  std::int64_t runs = 0;
  for (; runs < options.runs || seconds() < options.seconds; ++runs) run(mutated());
  std::fprintf(stderr, "%zu inputs replayed, %lld new ones in %.1f s, none fails\n", inputs.size(),
               static_cast<long long>(runs), seconds());
}

}  // namespace
}  // namespace prekond::fuzz

int main(int argc, char** argv) {
  using namespace prekond::fuzz;
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  crash_file = "crash-" + program + "-" + std::to_string(getpid());
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM})
    std::signal(signal, keep_input);
  LLVMFuzzerInitialize(&argc, &argv);
  fuzz(options_of({argv + 1, argv + argc}));
}
