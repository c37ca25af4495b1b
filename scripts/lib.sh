# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash

# The common part of the scripts: find or make a toolchain, build with it, run what was built. Sourced, never executed.
#
# A toolchain has one of three modes:
#   native  this machine has CMake, a C++20 compiler, Kokkos and the other dependencies
#   fetch   this machine has CMake and a C++20 compiler; CMake downloads the dependencies
#   root    a Debian machine, as root user: compiler and dependencies live in a Debian sid folder, used by chroot
# PREKOND_TOOLCHAIN=native|fetch|root allows only that one; PREKOND_CACHE says where roots and ccache are kept.
#
# There are two suites, that is two builds: `openmp`, everything with Kokkos's OpenMP, and `trilinos`, the library with
# the adapters for Trilinos and PETSc, on Trilinos's own Kokkos: always in a root, a second one, because Debian's Trilinos
# and its Kokkos own the same files.

set -euo pipefail

SOURCE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=${PREKOND_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/prekond}
mkdir -p "$CACHE/ccache"
CACHE=$(cd "$CACHE" && pwd -P)
readonly SOURCE_DIR CACHE
readonly STATE=$CACHE/toolchain # lines "key=value", written by setup

SUITE=openmp # the one that the functions below `setup` work on; setup_suite chooses
ARCH=''      # what the suite openmp is compiled for, ARCH or ARCH+TUNE (PREKOND_ARCH, -mtune); empty: this machine
CONTRACT=''  # with that, -ffp-contract of its compilation: off or fast
CHECK=''     # sanitize: a build with sanitizers; coverage: one that counts the lines that run (scripts/test)
INSTALL=''   # not empty: a build without tests, for scripts/install
FUZZER=''    # not empty: a build by clang for libFuzzer, with sanitizers (scripts/fuzz)
TIMES=''     # not empty: compilers are timed (scripts/build --times), and ccache is left out

# mpi is left out on purpose: only `scripts/setup peers` needs it.
readonly OPENMP_PACKAGES=(g++ cmake ninja-build ccache git python3 libkokkos-dev libgtest-dev libgmock-dev
  libbenchmark-dev libmetis-dev libsuitesparse-dev nlohmann-json3-dev libcli11-dev zlib1g-dev clang-tidy)
readonly PEER_PACKAGES=(libhypre-dev libamgcl-dev libopenmpi-dev openmpi-bin libviennacl-dev libboost-dev ocl-icd-opencl-dev)
readonly COVERAGE_PACKAGES=(gcovr)
readonly FUZZER_PACKAGES=(clang libclang-rt-dev libomp-dev)
readonly TRILINOS_PACKAGES=(g++ cmake ninja-build ccache git python3
  libtrilinos-{tpetra,belos,ifpack2,kokkos,kokkos-kernels,teuchos,xpetra,zoltan2,zoltan,amesos2,thyra,shylu,rtop}-dev
  libptscotch-dev libmumps-dev libhdf5-openmpi-dev libboost-dev libblas-dev liblapack-dev libopenmpi-dev openmpi-bin
  libgtest-dev libgmock-dev libbenchmark-dev libmetis-dev nlohmann-json3-dev libcli11-dev zlib1g-dev)
readonly PETSC_PACKAGES=(petsc-dev pkgconf) # with the MPI of Trilinos

say() { printf 'prekond setup: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# ---------------------------------------------------------------------------------------------- commands in a root

# in_root ROOT COMMAND...: runs COMMAND in ROOT, in the source tree. The mounts belong to a private mount namespace:
# they end with the command, however it ends, and the machine never sees them.
in_root() {
  # Variables that name this machine's compilers and libraries would mislead a command inside. OpenMPI asks root twice.
  env -u CC -u CXX -u CPATH -u CPLUS_INCLUDE_PATH -u LIBRARY_PATH -u LD_LIBRARY_PATH -u LD_PRELOAD -u TMPDIR \
    -u PKG_CONFIG_PATH -u PYTHONPATH -u CMAKE_PREFIX_PATH -u Kokkos_ROOT -u Kokkos_DIR \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 LANG=C.UTF-8 LC_ALL=C.UTF-8 \
    CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$SOURCE_DIR" CCACHE_NOHASHDIR=1 \
    unshare --mount --propagation private -- \
    bash -c "$(declare -f enter_root); enter_root \"\$@\"" in_root "$SOURCE_DIR" "$CACHE/ccache" "$@"
}

# The part of in_root that runs in the private mount namespace.
enter_root() {
  set -euo pipefail
  local source=$1 ccache=$2 root=$3 folder shared home=/root
  shift 3
  # rbind: in a container /proc and /sys may have parts masked by mounts, and then only a bind with those is allowed.
  for folder in /proc /sys /dev; do mount --rbind "$folder" "$root$folder"; done
  for folder in /tmp "$source" "$ccache"; do
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
  done
  # The tests look for ../shared/matrices next to the source tree, which may be a link.
  shared=$(dirname "$source")/shared
  if [[ -d $shared ]]; then
    folder=$(readlink -f "$shared")
    mkdir -p "$root$folder"
    mount --rbind "$folder" "$root$folder"
    mount -o remount,bind,ro "$root$folder"
    [[ $folder == "$shared" || -e $root$shared ]] || ln -sfn "$folder" "$root$shared"
  fi
  [[ -n ${HOME:-} && -d $root$HOME ]] && home=$HOME
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=$home \
    exec chroot "$root" env -C "$source" "$@"
}

# ---------------------------------------------------------------------------------------------- making a root

# debian_sources: the http(s) archives of this machine's apt that name a Debian release and its component main, one
# URI a line, in the order of the files; security archives are left out.
debian_sources() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    [[ -r $file ]] || continue
    case $file in
      *.sources) # deb822: paragraphs of "Field: values", to which lines that start with a blank belong
        awk '
          function flush() {
            if (value["enabled"] !~ /^[ \t]*(no|false|0)/ && (" " value["types"] " ") ~ / deb /)
              print value["uris"] "|" value["suites"] "|" value["components"]
            split("", value)
          }
          /^#/ { next }
          /^[ \t]*$/ { flush(); next }
          /^[ \t]/ { value[field] = value[field] " " $0; next }
          { field = tolower($0); sub(/:.*/, "", field); sub(/^[^:]*:/, ""); value[field] = $0 }
          END { flush() }' "$file" ;;
      *) # deb [options] URI SUITE COMPONENT...
        sed -n -E 's/#.*//; s/^[[:space:]]*deb[[:space:]]+(\[[^]]*\][[:space:]]*)?//p' "$file" |
          awk 'NF >= 3 { line = $1 "|" $2 "|"; for (i = 3; i <= NF; ++i) line = line " " $i; print line }' ;;
    esac
  done | awk -F'|' '
    (" " $2 " ") ~ / (bullseye|bookworm|trixie|forky|duke|sid|oldstable|stable|testing|unstable)\/? / &&
    (" " $3 " ") ~ / main / {
      n = split($1, uris, " ")
      for (i = 1; i <= n; ++i) if (uris[i] ~ /^https?:/ && uris[i] !~ /security/ && !seen[uris[i]]++) print uris[i]
    }'
}

# debian_mirror: the first of debian_sources that is Debian itself and has sid. Others publish packages under Debian's
# release names too, so the archive is asked, by apt's own downloader (its proxies, no need for curl).
debian_mirror() {
  local uri file
  file=$(mktemp)
  while read -r uri; do
    rm -f "$file"
    if /usr/lib/apt/apt-helper download-file "${uri%/}/dists/sid/InRelease" "$file" >/dev/null 2>&1 &&
      grep -qx 'Origin: Debian' "$file"; then
      rm -f "$file"
      printf '%s\n' "${uri%/}"
      return 0
    fi
  done < <(debian_sources)
  rm -f "$file"
  return 1
}

# logged LOG COMMAND...: quiet unless it fails.
logged() {
  local log=$1
  shift
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    say "failed: $1 ...; the end of $log:"
    tail -n 20 "$log" >&2
    return 1
  fi
}

# twice COMMAND...: mirrors fail now and then.
twice() { "$@" || { say "trying once more" && sleep 3 && "$@"; }; }

# remove_root ROOT: refuses while something is mounted below, so that no file outside can be lost.
remove_root() {
  local root=$1
  [[ -e $root ]] || return 0
  if [[ $root != "$CACHE"/*-root ]] || awk -v root="$(printf '%s' "$root" | sed 's/ /\\\\040/g')" \
    '$5 == root || index($5, root "/") == 1 { found = 1 } END { exit !found }' /proc/self/mountinfo; then
    say "something is mounted in $root: unmount it (see /proc/self/mountinfo), remove the folder, start again"
    return 1
  fi
  rm -rf --one-file-system "$root"
}

# make_base ROOT LOG: a minimal Debian sid.
make_base() {
  local root=$1 log=$2 mirror
  remove_root "$root" || return 1
  mirror=$(debian_mirror) || { say "no Debian archive with sid among this machine's apt sources" && return 1; }
  say "making a Debian sid root in $root (about a minute)"
  # A private mount namespace, because debootstrap mounts /proc in the root and leaves it there when killed.
  logged "$log" unshare --mount --propagation private -- \
    debootstrap --variant=minbase --include=ca-certificates sid "$root" "$mirror" || return 1
  # A mirror's Release file can be past its date; and this machine's apt may know about a proxy or a wrong clock.
  printf 'Acquire::Check-Valid-Until "false";\nAPT::Install-Recommends "false";\n' >"$root/etc/apt/apt.conf.d/90prekond"
  { apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' || true; } >"$root/etc/apt/apt.conf.d/91machine"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/prekond" # a root that a crash spoils is made again
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package starts a service here
  chmod +x "$root/usr/sbin/policy-rc.d"
  if [[ $root == */trilinos-root ]]; then
    # Trilinos 17 is in experimental; nothing else is to come from there.
    echo "deb $mirror experimental main" >"$root/etc/apt/sources.list.d/experimental.list"
    printf 'Package: *trilinos*\nPin: release a=experimental\nPin-Priority: 900\n' >"$root/etc/apt/preferences.d/trilinos"
  fi
  mkdir "$root/.prekond"
  touch "$root/.prekond/base"
}

# install_packages ROOT LOG PACKAGE...: also repairs an installation that was interrupted.
install_packages() {
  local root=$1 log=$2
  shift 2
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
  logged "$log" in_root "$root" env DEBIAN_FRONTEND=noninteractive sh -ec '
    dpkg --configure -a
    apt-get update
    # The newest clang-tidy that can be installed in place of the default: 23 takes half the time of 21.
    for name; do
      shift
      if [ "$name" = clang-tidy ]; then
        for name in $(apt-cache pkgnames clang-tidy- | grep -x "clang-tidy-[0-9]*" | sort -rV) clang-tidy; do
          ! apt-get install -s "$name" >/dev/null 2>&1 || break
        done
      fi
      set -- "$@" "$name"
    done
    apt-get install -y --fix-broken "$@"
    apt-get clean' sh "$@"
}

# Debian's CMake files of Kokkos 5.2 name two libraries that its package does not ship; both are empty by design.
add_empty_kokkos_archives() {
  local root=$1 core folder name
  for core in "$root"/usr/lib/*/libkokkoscore.so; do
    [[ -e $core ]] || continue
    folder=$(dirname "$core")
    for name in libkokkosalgorithms libkokkossimd; do
      [[ -e $folder/$name.a || -e $folder/$name.so ]] || in_root "$root" ar rcs "${folder#"$root"}/$name.a" || return 1
    done
  done
}

list_hash() { printf '%s\n' "$@" | sha256sum | cut -c1-16; }

# stamped ROOT STAGE HASH: was the stage completed with that list? (no process started: this is the everyday path)
stamped() {
  local found=
  [[ -r $1/.prekond/$2 ]] && read -r found <"$1/.prekond/$2"
  [[ $found == "$3" ]]
}

# add_packages ROOT STAGE PACKAGE...: one stage, stamped when it is complete.
add_packages() {
  local root=$1 stage=$2 log=$1.log hash
  shift 2
  hash=$(list_hash "$@")
  stamped "$root" "$stage" "$hash" && return 0
  say "installing in $root: $*"
  rm -f "$root/.prekond/checked"
  twice install_packages "$root" "$log" "$@" ||
    { say "if it goes on failing, remove $root and start again" && return 1; }
  add_empty_kokkos_archives "$root" || return 1
  echo "$hash" >"$root/.prekond/$stage"
}

# with_lock FILE COMMAND...: two runs do not collide. Children inherit the lock: when a run is killed, the next one
# waits for the processes that it left.
with_lock() (
  lock=$1
  shift
  if have flock; then
    exec 9>"$lock"
    flock -n 9 || { say "waiting for another run in the same folder" && flock 9; }
  fi
  "$@"
)

can_make_roots() {
  [[ $(id -u) == 0 ]] && have apt-get && have dpkg && have unshare && have flock &&
    unshare --mount --propagation private true 2>/dev/null
}

get_debootstrap() {
  have debootstrap && return 0
  say "installing debootstrap"
  logged "$1" sh -ec 'apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y debootstrap'
}

# ensure_root NAME PACKAGE...: the folder $CACHE/NAME-root, made or repaired, and able to build a program.
ensure_root() {
  local root=$CACHE/$1-root
  shift
  with_lock "$root.lock" ensure_root_locked "$root" "$@"
}
ensure_root_locked() { fill_root "$@" && check_root "$1"; }

# fill_trilinos_root ROOT: Trilinos and PETSc, each a stage, so that a root without PETSc is extended and not made anew.
fill_trilinos_root() {
  fill_root "$1" "${TRILINOS_PACKAGES[@]}" && add_packages "$1" petsc "${PETSC_PACKAGES[@]}" && check_root "$1"
}

# fill_root ROOT PACKAGE...: made or repaired, not tried out.
fill_root() {
  local root=$1
  shift
  if [[ ! -e $root/.prekond/base ]]; then
    : >"$root.log"
    remove_root "$root" || return 1
    twice get_debootstrap "$root.log" && twice make_base "$root" "$root.log" || return 1
  fi
  add_packages "$root" packages "$@"
}

# ---------------------------------------------------------------------------------------------- choosing a toolchain

# probe SUITE FOLDER [RUNNER...]: do CMake and the compiler find all dependencies and link a Kokkos program? For the suite
# trilinos one with Tpetra, Ifpack2 and Belos, which also has to run on two ranks, and one with PETSc.
probe() {
  local folder=$2 options=(-G Ninja)
  [[ $1 != trilinos ]] || options+=(-DTRILINOS=ON)
  shift 2
  cat >"$folder/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
find_package(Kokkos REQUIRED)
if(Kokkos_VERSION VERSION_LESS 4.6 OR Kokkos_VERSION VERSION_GREATER_EQUAL 6)
  message(FATAL_ERROR "Kokkos ${Kokkos_VERSION} is not in the range 4.6 to 5")
endif()
find_package(GTest REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(benchmark QUIET)
add_executable(probe probe.cpp)
target_link_libraries(probe Kokkos::kokkos GTest::gtest CLI11::CLI11 nlohmann_json::nlohmann_json ZLIB::ZLIB)
message(STATUS "prekond probe: benchmark_FOUND=${benchmark_FOUND}")
if(TRILINOS)
  find_package(Tpetra REQUIRED)
  find_package(Ifpack2 REQUIRED)
  find_package(Belos REQUIRED)
  find_package(MPI REQUIRED COMPONENTS CXX)
  add_executable(probe_trilinos trilinos.cpp)
  target_link_libraries(probe_trilinos Tpetra::all_libs Ifpack2::all_libs Belos::all_libs MPI::MPI_CXX)
  add_custom_command(TARGET probe_trilinos POST_BUILD VERBATIM
    COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 --oversubscribe $<TARGET_FILE:probe_trilinos>)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(PETSC REQUIRED IMPORTED_TARGET PETSc)
  add_executable(probe_petsc petsc.cpp)
  target_link_libraries(probe_petsc PkgConfig::PETSC MPI::MPI_CXX)
  add_custom_command(TARGET probe_petsc POST_BUILD COMMAND probe_petsc VERBATIM)
endif()
CMAKE
  cat >"$folder/probe.cpp" <<'CPP'
#include <Kokkos_Core.hpp>
int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Kokkos::View<double*> x("x", 10);
  Kokkos::deep_copy(x, 1.0);
}
CPP
  cat >"$folder/trilinos.cpp" <<'CPP'
#include <BelosSolverFactory_Tpetra.hpp>
#include <BelosTpetraAdapter.hpp>
#include <Ifpack2_Factory.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
int main(int argc, char** argv) {
  const Tpetra::ScopeGuard guard(&argc, &argv);
  using Matrix = Tpetra::CrsMatrix<>;
  using Vector = Tpetra::MultiVector<>;
  const auto map = Teuchos::rcp(new Tpetra::Map<>(10, 0, Tpetra::getDefaultComm()));
  const auto matrix = Teuchos::rcp(new Matrix(map, 1));
  for (int i = 0; i < static_cast<int>(map->getLocalNumElements()); ++i) {
    const auto row = map->getGlobalElement(i);
    matrix->insertGlobalValues(row, Teuchos::tuple(row), Teuchos::tuple(2.0));
  }
  matrix->fillComplete();
  const auto preconditioner = Ifpack2::Factory::create<Tpetra::RowMatrix<>>("RILUK", matrix);
  preconditioner->initialize();
  preconditioner->compute();
  Belos::SolverFactory<double, Vector, Tpetra::Operator<>> factory;
  const auto solver = factory.create("CG", Teuchos::parameterList());
  return solver.is_null() || matrix->getGlobalNumRows() != 10;
}
CPP
  cat >"$folder/petsc.cpp" <<'CPP'
#include <petscksp.h>
int main(int argc, char** argv) {
  KSP ksp = nullptr;
  return PetscInitialize(&argc, &argv, nullptr, nullptr) || KSPCreate(PETSC_COMM_WORLD, &ksp) || KSPDestroy(&ksp) ||
         PetscFinalize();
}
CPP
  [[ $# -gt 0 ]] || have ninja || options+=(-G "Unix Makefiles")
  "$@" cmake -S "$folder" -B "$folder/build" "${options[@]}" >"$folder/log" 2>&1 &&
    "$@" cmake --build "$folder/build" >>"$folder/log" 2>&1
}

has_new_cmake() {
  local version
  have cmake || return 1
  version=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  [[ $(printf '%s\n' 3.25 "$version" | sort -V | head -n 1) == 3.25 ]] && { have ninja || have make; }
}

has_cxx20() {
  echo '#include <concepts>
template <std::integral T> T twice(T x) { return 2 * x; }
int main() { return twice(0); }' | ${CXX:-c++} -std=c++20 -x c++ -o /dev/null - 2>/dev/null
}

github_answers() {
  local url=https://github.com/kokkos/kokkos
  if have curl; then
    curl -fsSIL --max-time 5 -o /dev/null "$url" 2>/dev/null
  else
    have git && have timeout && GIT_TERMINAL_PROMPT=0 timeout 5 git ls-remote "$url" HEAD >/dev/null 2>&1
  fi
}

# The choice depends on these besides the machine: when they change, the choice is made again.
asked() {
  printf '%s' "${PREKOND_TOOLCHAIN:-}:${CXX:-}:${CMAKE_PREFIX_PATH:-}:${Kokkos_ROOT:-}:${Kokkos_DIR:-}" | tr '\n' ' '
}

allowed() { [[ ${PREKOND_TOOLCHAIN:-$1} == "$1" ]]; }

try_native() {
  local folder ok=1
  allowed native && has_new_cmake || return 1
  folder=$(mktemp -d)
  if probe openmp "$folder"; then
    ok=0
    grep -q 'benchmark_FOUND=1' "$folder/log" && PERF_TESTS=ON || PERF_TESTS=OFF
  fi
  rm -rf "$folder"
  return $ok
}

# check_root ROOT: sid and experimental change daily, so say at once when their Kokkos or Trilinos does not work, not
# somewhere in a build. Stamped: once after each change of the root.
check_root() {
  local root=$1 folder ok=0 suite=openmp
  [[ ! -e $root/.prekond/checked ]] || return 0
  [[ $root != */trilinos-root ]] || suite=trilinos
  folder=$(mktemp -d -p /tmp)
  if probe "$suite" "$folder" in_root "$root"; then
    touch "$root/.prekond/checked"
  else
    ok=1
    say "Debian's libraries in $root do not build a program:"
    tail -n 20 "$folder/log" >&2
  fi
  rm -rf "$folder"
  return $ok
}

# write_state MODE ROOT
write_state() {
  printf '%s\n' "mode=$1" "root=$2" "perf_tests=${PERF_TESTS:-ON}" "asked=$(asked)" >"$STATE.new.$$"
  mv "$STATE.new.$$" "$STATE"
}

# load_state: sets MODE, ROOT and PERF_TESTS from the last setup; fails if it no longer holds.
load_state() {
  local key value was_asked=
  MODE='' ROOT='' PERF_TESTS=ON
  [[ -r $STATE ]] || return 1
  while IFS='=' read -r key value; do
    case $key in
      mode) MODE=$value ;;
      root) ROOT=$value ;;
      perf_tests) PERF_TESTS=$value ;;
      asked) was_asked=$value ;;
    esac
  done <"$STATE"
  [[ $was_asked == "$(asked)" ]] || return 1
  case $MODE in
    root) [[ -e $ROOT/.prekond/base ]] && stamped "$ROOT" packages "$(list_hash "${OPENMP_PACKAGES[@]}")" ;;
    native | fetch) have cmake ;;
    *) return 1 ;;
  esac
}

# setup: afterwards MODE, ROOT and PERF_TESTS are set.
setup() {
  load_state && return 0
  say "looking for CMake, a C++20 compiler and Kokkos"
  if try_native; then
    say "using this machine's Kokkos"
    write_state native ''
  elif allowed fetch && has_new_cmake && has_cxx20 && github_answers; then
    say "no Kokkos here; CMake will download the dependencies"
    write_state fetch ''
  elif allowed root && can_make_roots; then
    ensure_root openmp "${OPENMP_PACKAGES[@]}" || return 1
    say "ready: $CACHE/openmp-root"
    write_state root "$CACHE/openmp-root"
  else
    say "no usable toolchain. Install CMake >= 3.25, ninja, a C++20 compiler, Kokkos 4.6 to 5, GoogleTest, CLI11," \
      "nlohmann_json and zlib (CMAKE_PREFIX_PATH says where), or allow access to github.com, or run this as root on" \
      "Debian with mount rights"
    return 1
  fi
  load_state
}

setup_peers() {
  setup || return 1
  [[ $MODE == root ]] || { say "peers: install hypre, amgcl, MPI and ViennaCL on this machine; CMake finds them" && return 0; }
  with_lock "$ROOT.lock" add_packages "$ROOT" peers "${PEER_PACKAGES[@]}" && check_root "$ROOT"
}

# setup_sanitize: like setup, for the build with sanitizers.
setup_sanitize() { setup && CHECK=sanitize; }

# setup_coverage: like setup, for the build that counts lines, with gcovr for its report.
setup_coverage() {
  setup || return 1
  CHECK=coverage
  [[ $MODE == root ]] || { have gcovr || say "no gcovr here: coverage is not reported" && return 0; }
  with_lock "$ROOT.lock" add_packages "$ROOT" coverage "${COVERAGE_PACKAGES[@]}" && check_root "$ROOT"
}

# setup_fuzzer: like setup, with clang.
setup_fuzzer() {
  setup || return 1
  FUZZER=1
  [[ $MODE == root ]] || { have clang++ || { say "scripts/fuzz needs clang and libFuzzer: install them" && return 1; }; return 0; }
  with_lock "$ROOT.lock" add_packages "$ROOT" fuzzer "${FUZZER_PACKAGES[@]}" && check_root "$ROOT"
}

# setup_trilinos: like setup, for the suite trilinos.
setup_trilinos() {
  local root=$CACHE/trilinos-root
  if ! allowed root; then
    say "the Trilinos suite is built in a Debian root, which PREKOND_TOOLCHAIN=$PREKOND_TOOLCHAIN does not allow"
    return 1
  fi
  if ! stamped "$root" packages "$(list_hash "${TRILINOS_PACKAGES[@]}")" ||
    ! stamped "$root" petsc "$(list_hash "${PETSC_PACKAGES[@]}")" || [[ ! -e $root/.prekond/checked ]]; then
    can_make_roots || { say "the Trilinos suite's Debian root needs Debian, the root user and mount rights" && return 1; }
    with_lock "$root.lock" fill_trilinos_root "$root" || return 1
  fi
  SUITE=trilinos MODE=root ROOT=$root PERF_TESTS=OFF
}

# setup_suite openmp|trilinos|sanitize|coverage
setup_suite() {
  case $1 in
    openmp) setup ;;
    *) "setup_$1" ;;
  esac
}

# ---------------------------------------------------------------------------------------------- building and running

# The functions below need a setup.

build_folder() {
  if [[ -n $TIMES ]]; then
    echo "$SOURCE_DIR/build/times/$SUITE"
  elif [[ -n $INSTALL ]]; then
    echo "$SOURCE_DIR/build/install"
  elif [[ -n $CHECK ]]; then
    echo "$SOURCE_DIR/build/$CHECK"
  elif [[ -n $FUZZER ]]; then
    echo "$SOURCE_DIR/build/fuzz"
  elif [[ -n $ARCH ]]; then
    echo "$SOURCE_DIR/build/targets/${ARCH/+/-tune-}-contract-$CONTRACT"
  elif [[ $MODE == root ]]; then
    echo "$SOURCE_DIR/build/$SUITE"
  else
    echo "$SOURCE_DIR/build/native"
  fi
}

# with_toolchain COMMAND...: in the root, or here.
with_toolchain() {
  if [[ $MODE == root ]]; then
    in_root "$ROOT" "$@"
  else
    CCACHE_DIR="$CACHE/ccache" CCACHE_BASEDIR="$SOURCE_DIR" CCACHE_NOHASHDIR=1 env -C "$SOURCE_DIR" "$@"
  fi
}

# Template-heavy files take up to 2 GB each to compile.
jobs_at_once() {
  local jobs memory
  jobs=$(nproc 2>/dev/null || echo 2)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 2e6) }' /proc/meminfo 2>/dev/null || echo "$jobs")
  [[ $memory -ge $jobs ]] || jobs=$memory
  [[ $jobs -ge 1 ]] || jobs=1
  echo "$jobs"
}

# configure: one configuration a suite for every script, so that none of them compiles again what another one has.
configure() {
  local folder args launcher wanted found=''
  folder=$(build_folder)
  args=(-DCMAKE_BUILD_TYPE=Release)
  if [[ -n $INSTALL ]]; then
    args+=(-DPREKOND_ENABLE_TESTS=OFF -DPREKOND_ENABLE_PERF_TESTS=OFF)
  else
    args+=(-DPREKOND_ENABLE_TESTS=ON "-DPREKOND_ENABLE_PERF_TESTS=$PERF_TESTS")
  fi
  # The suite trilinos is compiled as an application on an installed Trilinos is.
  if [[ -n $ARCH ]]; then
    args+=("-DPREKOND_ARCH=${ARCH%+*}" "-DCMAKE_CXX_FLAGS=-ffp-contract=$CONTRACT")
    [[ $ARCH != *+* ]] || args[-1]+=" -mtune=${ARCH#*+}"
  elif [[ $CHECK == coverage ]]; then
    args+=(-DPREKOND_ENABLE_NATIVE=ON -DPREKOND_ENABLE_COVERAGE=ON -DPREKOND_ENABLE_PERF_TESTS=OFF)
  elif [[ -n $CHECK ]]; then
    args+=(-DCMAKE_BUILD_TYPE=Check -DCMAKE_CXX_FLAGS_CHECK=-O1 -DPREKOND_ENABLE_SANITIZERS=ON -DPREKOND_ENABLE_PERF_TESTS=OFF)
  elif [[ -n $FUZZER ]]; then
    args+=(-DCMAKE_CXX_COMPILER=clang++ "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" -DPREKOND_FUZZER=ON
      -DPREKOND_ENABLE_SANITIZERS=ON -DPREKOND_ENABLE_NATIVE=ON)
  elif [[ $SUITE == trilinos ]]; then
    # The adapters, what they link, and their tests; the library's own tests, and its code as it is shipped, are the suite
    # openmp's: here the compiler's time counts.
    args+=("-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" -DPREKOND_TESTS=adapters -DPREKOND_ENABLE_SINGLE=OFF)
  else
    args+=(-DPREKOND_ENABLE_NATIVE=ON)
  fi
  # A root of the suite openmp may have a PETSc for perf_tests; the adapter belongs to the suite with MPI.
  [[ $MODE != root || $SUITE == trilinos ]] || args+=(-DPREKOND_ENABLE_PETSC=OFF)
  [[ $MODE == root ]] || have ninja || args+=(-G "Unix Makefiles")
  [[ " ${args[*]} " == *" -G "* ]] || args+=(-G Ninja)
  [[ $MODE == fetch ]] && args+=(-DPREKOND_FETCH_DEPENDENCIES=ON) || args+=(-DPREKOND_FETCH_DEPENDENCIES=OFF)
  if [[ -n $TIMES ]]; then
    launcher="$SOURCE_DIR/scripts/time_command;$folder/times.log"
    args+=("-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_LINKER_LAUNCHER=$launcher" -DPREKOND_ENABLE_PCH=ON)
  elif [[ $MODE == root ]] || have ccache; then
    args+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  # Configured anew when the toolchain changed or the source tree was copied with its build folder.
  wanted="$SOURCE_DIR $(asked) ${args[*]} $(cd / && stat -c %Y "$ROOT"/.prekond/* 2>/dev/null | tr '\n' ' ')"
  [[ -r $folder/.configured ]] && found=$(<"$folder/.configured")
  [[ $found == "$wanted" ]] && return 0
  rm -f "$folder/.configured"
  with_toolchain cmake --fresh -S "$SOURCE_DIR" -B "$folder" "${args[@]}" || return 1
  printf '%s\n' "$wanted" >"$folder/.configured"
}

# build [TARGET...]: default all.
build() {
  local folder
  folder=$(build_folder)
  mkdir -p "$folder"
  with_lock "$folder/.lock" build_locked "$folder" "$@"
}
build_locked() {
  local folder=$1 target=()
  shift
  [[ $# -eq 0 ]] || target=(--target "$@")
  configure </dev/null && with_toolchain cmake --build "$folder" --parallel "$(jobs_at_once)" "${target[@]}" </dev/null
}

# show_progress: passes on its input, a build's output, and writes the last [n/N] of it to standard error: in one line of a
# terminal, else every twentieth.
show_progress() {
  local line terminal=0
  [[ ! -t 2 ]] || terminal=1
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[\ *([0-9]+)(/([0-9]+)|%)\] ]] || continue
    if [[ $terminal == 1 ]]; then
      printf '\rprekond setup: %s ' "${BASH_REMATCH[0]}" >&2
    elif ((BASH_REMATCH[1] > 0 && BASH_REMATCH[1] % 20 == 0)); then
      say "${BASH_REMATCH[0]}"
    fi
  done
  [[ $terminal == 0 ]] || printf '\r\033[K' >&2
}

# build_command: builds the command `prekond`, silently when that is quick, else with its progress.
build_command() {
  local folder log ok=0
  folder=$(build_folder)
  log=$folder/build-command.log
  mkdir -p "$folder"
  [[ -x $folder/src/driver/prekond ]] || say "building the command (first time: a few minutes)"
  build prekond_driver 2>&1 | show_progress >"$log" || ok=1
  if [[ $ok != 0 ]]; then
    tail -n 40 "$log" >&2
    say "the build failed; all of its output is in $log"
  fi
  return $ok
}

# run_binary FILE ARGUMENT...: runs here what was built in the root, by the root's own loader and libraries: no chroot,
# so that every file argument means what it means here. Does not return.
run_binary() {
  local file loader='' libraries='' folder
  [[ $MODE == root ]] || exec "$@"
  for file in "$ROOT"/lib64/ld*.so.[0-9] "$ROOT"/lib/ld*.so.[0-9]; do
    if [[ -x $file ]]; then loader=$file && break; fi
  done
  # BLAS first: its name in the common folder is an absolute link (alternatives), which here would leave the root.
  for folder in "$ROOT"/usr/lib/*-linux-gnu*{/openblas*,/blas,/lapack,}; do
    [[ ! -d $folder ]] || libraries+=${libraries:+:}$folder
  done
  # The cache of this machine's libraries (ld.so.cache) must not be looked at; neither may its preloads be.
  exec env -u LD_PRELOAD -u LD_LIBRARY_PATH "$loader" --inhibit-cache --library-path "$libraries" "$@"
}

# bound_spin: the threads of GCC's OpenMP spin for milliseconds at every barrier, which takes cores from other work; its
# library reads the length before main.
bound_spin() { [[ -n ${GOMP_SPINCOUNT+x}${OMP_WAIT_POLICY+x} ]] || export GOMP_SPINCOUNT=5000; }

# run_prekond ARGUMENT...: the command, built first if need be. Does not return.
run_prekond() {
  setup || exit 1
  build_command || exit 1
  bound_spin
  run_binary "$(build_folder)/src/driver/prekond" "$@"
}
