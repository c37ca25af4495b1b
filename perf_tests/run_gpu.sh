#!/usr/bin/env bash
# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Tests and performance tests on a machine with an NVIDIA GPU.
#   perf_tests/run_gpu.sh BUILD_OR_KOKKOS_SOURCE [OUT_DIR] [PART...]
# BUILD: a folder with a build, or only with its programs (test_*, perf_*, prekond, anywhere below it).
# KOKKOS_SOURCE: a Kokkos source tree; Prekond is then built with it in build/cuda. On a machine without network give
#   the other dependencies by CMAKE_PREFIX_PATH.
# OUT_DIR: default perf_tests/results/h200. PART: tests, perf, amg, smoothers, devices, batched, blocks, tables, sanitize; default all; and ranks,
#   ranks_amg, ranks_blocks and ksp. Each takes less than 9 minutes.
# devices: setups over 1, 2, ... of the GPUs that nvidia-smi lists; left out where that is one.
# ranks, ranks_amg, ranks_blocks, ksp: needs mpirun and a build with PETSC_DIR, a PETSc with CUDA. test_petsc and the steps of a distributed
#   solve on 1, 2, 4, ... ranks with a GPU each (ranks), by NCCL where the build has it, and by MPI; the phases of multigrid
#   (ranks_amg); GMRES with block ILU(0) (ranks_blocks); KSP CG with Prekond's PC and with PETSc's own, on the GPUs and on two cores, or
#   by each of KSP_METHODS in a run of its own (ksp).
# tables: the paper's tables and a sweep over settings, with the real matrices of MATRICES (default ../shared/matrices/spd).
# PART_SECONDS: how long a part may take, default 530. SETUP_MATRICES, SOLVE_MATRICES: other matrices than the default ones.
#   ONLY: a pattern (of bash's =~) that the names of performance tests, tables and sanitized cases have to match.
#   RANK_COUNTS: numbers of ranks. RANK_MATRICES, WEAK_MATRICES, RANK_METHODS, BLOCK_MATRICES, KSP_MATRICES, KSP_REPEAT, KSP_RHS: those of the parts ranks_amg, ranks_blocks and ksp.
# LD_LIBRARY_PATH is the caller's: it must lead to CUDA's libraries, and to Kokkos's where those are shared.

set -eu

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
part_seconds=${PART_SECONDS:-530}
failures=0

usage() { sed -n '5,21s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2; }
say() { printf '== %s\n' "$*"; }
failed() {
  printf 'FAILED: %s\n' "$*" >&2
  failures=$((failures + 1))
}

# ------------------------------------------------------------------------------------------------------- building

# kokkos_arch CAPABILITY: the option that names the architecture.
kokkos_arch() {
  case $1 in
    7.0) echo VOLTA70 ;;
    7.5) echo TURING75 ;;
    8.0) echo AMPERE80 ;;
    8.6) echo AMPERE86 ;;
    8.9) echo ADA89 ;;
    10.0) echo BLACKWELL100 ;;
    12.0) echo BLACKWELL120 ;;
    *) echo HOPPER90 ;;
  esac
}

# build_with KOKKOS: configures and builds build/cuda.
build_with() {
  local kokkos=$1 capability='' args=()
  if command -v nvidia-smi >/dev/null; then
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1) || capability=''
  fi
  capability=${capability:-9.0}
  # The wrapper's own default may be an architecture that this CUDA no longer knows.
  export NVCC_WRAPPER_DEFAULT_ARCH=sm_${capability/./}
  export NVCC_WRAPPER=$kokkos/bin/nvcc_wrapper KOKKOS_SOURCE=$kokkos
  args=("-DKokkos_ARCH_$(kokkos_arch "$capability")=ON")
  # That snapshot's mdspan-based View misbehaves with nvcc.
  if grep -Eqi 'set *\( *Kokkos_VERSION_PATCH +99 *\)' "$kokkos/CMakeLists.txt"; then
    args+=(-DKokkos_ENABLE_IMPL_VIEW_LEGACY=ON)
  fi
  command -v ninja >/dev/null || args+=(-G "Unix Makefiles")
  (cd "$source_dir" && cmake --preset cuda "${args[@]}" && cmake --build build/cuda --parallel "$(nproc)")
}

# program NAME: its path in the build folder, empty where it is missing.
program() { find "$build" -type f -name "$1" -perm -u+x -print -quit; }

# ------------------------------------------------------------------------------------------------------- parts

# left: seconds that the current part still has.
left() {
  local seconds=$((part_seconds - (SECONDS - part_start)))
  echo $((seconds > 1 ? seconds : 1))
}

part_tests() {
  local file name found=0
  while IFS= read -r file; do
    found=1
    name=$(basename "$file")
    say "$name"
    if ! timeout "$(left)" "$file" --kokkos-num-threads=2 --gtest_brief=1 --gtest_output="xml:$out/$name.xml" \
      >"$out/$name.log" 2>&1; then
      failed "$name: see $out/$name.log"
      grep -E 'FAILED|Failure|rror' "$out/$name.log" | head -n 20 || true
    fi
    tail -n 3 "$out/$name.log"
  done < <(find "$build" -type f -name 'test_*' ! -name '*.*' -perm -u+x | sort)
  [[ $found == 1 ]] || failed "no test_* programs below $build"
}

wanted() { [[ -z ${ONLY:-} || $1 =~ $ONLY ]]; }

# measure NAME PROGRAM ARGUMENT...: one performance test, its results in OUT/NAME.json.
measure() {
  local name=$1 file
  wanted "$name" || return 0
  file=$(program "$2")
  shift 2
  say "$name"
  [[ -n $file ]] || { failed "$name: no such program below $build" && return 0; }
  if timeout "$(left)" "$file" "$@" "--benchmark_out=$out/$name.json" --benchmark_out_format=json \
    >"$out/$name.log" 2>&1; then
    rm -f "$out/$name.log"
    python3 "$source_dir/perf_tests/results_file.py" "$out/$name.json"
    tables+=("$out/$name.json")
  else
    failed "$name: the end of $out/$name.log:"
    tail -n 5 "$out/$name.log" >&2
    rm -f "$out/$name.json" # cut short
  fi
}

part_perf() {
  local matrix word
  for matrix in ${SETUP_MATRICES:-elasticity3d:100 elasticity3d:60 poisson3d:160}; do
    measure "adaptive_fsai_${matrix//[:,=]/_}" perf_adaptive_fsai "--matrix=$matrix"
  done
  for matrix in ${SETUP_MATRICES:-elasticity3d:100 poisson3d:160}; do
    measure "fsai_${matrix//[:,=]/_}" perf_fsai "--matrix=$matrix"
  done
  matrix=elasticity3d:100
  measure fsai_blocks_elasticity3d_100 perf_fsai "--matrix=$matrix" --block_size=3
  measure gradients_elasticity3d_36 perf_adaptive_fsai --matrix=elasticity3d:36 --gradient=list,marker,merge \
    --workspace_budget=17179869184
  measure nonsymmetric_fsai_convection_diffusion3d_100 perf_nonsymmetric_fsai --matrix=convection_diffusion3d:100
  measure isai_convection_diffusion3d_100 perf_isai --matrix=convection_diffusion3d:100
  measure spai_convection_diffusion3d_100 perf_spai --matrix=convection_diffusion3d:100 --powers=1,2 --sides=right,left
  measure spai_elasticity3d_50 perf_spai --matrix=elasticity3d:50
  measure spai_elasticity3d_25_power_2 perf_spai --matrix=elasticity3d:25 --powers=2 --repetitions=3
  measure spai_offshore perf_spai --matrix=irregular3d:64,mean=16.33,longest=31
  measure spai_msdoor perf_spai --matrix=irregular3d:52,unknowns=3,mean=46.1,longest=77,lonely=0.001
  measure spai_fault_639 perf_spai --matrix=irregular3d:60,unknowns=3,mean=42.65,longest=267,lonely=0.001
  measure dynamic_spai_convection_diffusion3d_100 perf_spai --matrix=convection_diffusion3d:100 --dynamic=true
  measure formats perf_formats "--matrices=${FORMAT_MATRICES:-poisson3d:160;elasticity3d:100;elasticity3d:60;anisotropic2d:1500;irregular3d:100,mean=16.33,longest=31;irregular3d:70,unknowns=3,mean=46.1,longest=77,lonely=0.001;circuit:1000;convection_diffusion3d:130}" \
    --repetitions=3 --seconds=0.01
  for matrix in ${SOLVE_MATRICES:-elasticity3d:100 poisson3d:160}; do
    measure "relaxation_${matrix//[:,=]/_}" perf_relaxation "--matrix=$matrix" --orders=natural --storages=full,half
    measure "polynomial_${matrix//[:,=]/_}" perf_polynomial "--matrix=$matrix" --degrees=2,10 --storages=full,half
  done
  measure triangular perf_triangular "--matrices=poisson3d:160;elasticity3d:100" --storages=full,half --repetitions=3
  for matrix in ${SOLVE_MATRICES:-elasticity3d:100 poisson3d:160}; do
    measure "ilu_${matrix//[:,=]/_}" perf_ilu "--matrix=$matrix" --repetitions=3 $([[ $matrix == elasticity* ]] && echo --levels=0)
  done
  for matrix in ${THRESHOLD_MATRICES:-elasticity3d:60 poisson3d:100}; do
    measure "ilut_${matrix//[:,=]/_}" perf_ilut "--matrix=$matrix" --repetitions=3
    measure "par_ilu_${matrix//[:,=]/_}" perf_par_ilu "--matrix=$matrix" --repetitions=3 --levels=0
  done
  measure matching perf_matching --matrix=convection_diffusion3d:60 --repetitions=3
  measure aggregate_poisson3d_160 perf_aggregate --matrix=poisson3d:160
  measure aggregate_elasticity3d_60 perf_aggregate --matrix=elasticity3d:60 --unknowns=3
  measure block_elasticity3d_30 perf_block --matrix=elasticity3d:30
  measure reordering_poisson3d_100 perf_reordering --matrix=poisson3d:100
  measure cholesky perf_cholesky
  for word in spmv cg; do
    for matrix in ${SOLVE_MATRICES:-elasticity3d:100 poisson3d:160}; do
      measure "${word}_${matrix//[:,=]/_}" "perf_$word" "--matrix=$matrix" $([[ $word == cg ]] && echo --spmv=csr,auto)
    done
  done
  measure krylov_convection_diffusion3d_160 perf_krylov --matrix=convection_diffusion3d:160
  measure krylov_4_columns_convection_diffusion3d_100 perf_krylov --matrix=convection_diffusion3d:100 --columns=4
}

part_amg() {
  local matrix rhs name options program limit variants
  say 'multigrid to a solution'
  program=$(program peer_hypre_boomeramg)
  for matrix in ${AMG_MATRICES:-poisson3d:50 poisson3d:100 poisson3d:160 poisson3d:200 elasticity3d:50 elasticity3d:100 \
    elasticity3d:50,contrast=1e6 anisotropic2d:1000,epsilon=1e-3}; do
    name=${matrix//[:,=]/_}
    for rhs in random a_ones; do
      measure "${name}_$rhs" perf_amg "--matrix=$matrix" "--rhs=$rhs" --storages=single --repetitions=3 \
        --smoothers=chebyshev,jacobi,l1_jacobi,multicolor_ssor,fsai,adaptive_fsai,isai
      options=()
      [[ $matrix != elasticity* ]] || options=(--functions=3 --filter=1 --settings=pmis)
      [[ -z $program ]] || ! wanted hypre ||
        timeout "$(left)" "$program" "--matrix=$matrix" "--rhs=$rhs" "${options[@]}" >>"$out/hypre.txt" || failed "BoomerAMG, $matrix"
    done
  done
  for matrix in poisson3d:160 anisotropic2d:1000,epsilon=1e-3 elasticity3d:50; do
    measure "coarsenings_${matrix//[:,=]/_}" perf_amg "--matrix=$matrix" --coarsenings=aggregation,classical,aggressive --storages=single \
      --smoothers=chebyshev,jacobi --preconds= --repetitions=3
  done
  for matrix in poisson3d:160 elasticity3d:50; do
    measure "storages_${matrix//[:,=]/_}" perf_amg "--matrix=$matrix" --smoothers=jacobi,chebyshev,spai \
      --storages=full,single,half,bfloat16 --preconds= --repetitions=3
    measure "cycles_${matrix//[:,=]/_}" perf_amg "--matrix=$matrix" --smoothers=jacobi,chebyshev --storages=single --cycles=v,w,k \
      --preconds= --repetitions=3
  done
  measure coarsenings_convection_diffusion3d_100 perf_amg --matrix=convection_diffusion3d:100 --prolongator=unsmoothed --storages=single \
    --coarsenings=aggregation,classical,aggressive --smoothers=multicolor_gs --preconds= --repetitions=3
  for matrix in poisson3d:50 poisson3d:100 poisson3d:160 poisson3d:200; do
    for rhs in random a_ones; do
      measure "growth_${matrix//[:,=]/_}_$rhs" perf_amg "--matrix=$matrix" "--rhs=$rhs" --variants=amg,amg:cycle=w \
        --smoothers=chebyshev,jacobi,fsai,adaptive_fsai,adaptive_fsai:max_steps=3 --preconds= --repetitions=3
    done
  done
  variants=amg
  for limit in 1000 16 8 4 3 2; do variants+=",amg:max_interpolation=$limit"; done
  measure truncation_circuit_500 perf_amg --matrix=circuit:500 --smoothers=chebyshev,jacobi "--variants=$variants" --preconds= --repetitions=3
  for matrix in poisson3d:160 elasticity3d:60; do measure "spgemm_${matrix//[:,=]/_}" perf_spgemm "--matrix=$matrix" --repetitions=3; done
  measure spgemm_circuit_500 perf_spgemm --matrix=circuit:500 --products=A_P,R_AP --repetitions=3
}

# Multigrid with all smoothers, for results/h200/amg.
part_smoothers() {
  local program
  program=$(program perf_amg)
  [[ -n $program ]] || { failed "smoothers: no perf_amg below $build" && return 0; }
  say 'smoothers of multigrid'
  timeout "$(left)" python3 "$source_dir/perf_tests/smoothers.py" measure --program "$program" --out "$out/smoothers.json" --seconds 45 ||
    failed 'smoothers of multigrid'
  python3 "$source_dir/perf_tests/smoothers.py" render --in "$out/smoothers.json" --out "$out/smoothers.md" || failed 'smoothers of multigrid'
}

# Setups that several GPUs share, and solves with them by the command.
part_devices() {
  local matrix precond count
  count=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
  [[ $count -gt 1 ]] || { say "devices: left out, there is $count" && return 0; }
  nvidia-smi topo -m >"$out/topology.txt" 2>&1 || true
  for matrix in ${SETUP_MATRICES:-elasticity3d:100 elasticity3d:60}; do
    measure "devices_${matrix//[:,=]/_}" perf_devices "--matrix=$matrix" \
      --preconditioners=adaptive_fsai,fsai,nonsymmetric_fsai,spai,isai --repetitions=3
    measure "devices_paper_${matrix//[:,=]/_}" perf_devices "--matrix=$matrix" \
      --preconditioners=adaptive_fsai:max_steps=30:step_size=1:tolerance=1e-3,fsai:power=2 --repetitions=3
    for precond in adaptive_fsai fsai; do
      wanted "solve_$precond" || continue
      say "prekond solve --generate $matrix --precond $precond --devices $count"
      timeout "$(left)" "$(program prekond)" solve --generate "$matrix" --precond "$precond" --solver cg --devices "$count" --rhs a_ones --repeat 3 \
        --report "$out/devices_${precond}_${matrix//[:,=]/_}_solve.json" || failed "solve --devices $count, $precond"
    done
  done
}

# on_ranks N COMMAND...: on N ranks, with a GPU each. MPI is given host memory, whatever it knows of devices; messages go by
# NCCL where the build has it.
on_ranks() {
  local count=$1
  shift
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=${OMPI_MCA_btl:-self,vader} OMPI_MCA_pml=${OMPI_MCA_pml:-ob1} \
    NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0} KOKKOS_MAP_DEVICE_ID_BY=mpi_rank OMP_NUM_THREADS=${OMP_NUM_THREADS:-8} \
    PETSC_OPTIONS="${PETSC_OPTIONS:-} -use_gpu_aware_mpi 0" timeout "$(left)" mpirun --bind-to none --oversubscribe -np "$count" "$@"
}

# rank_counts: 1, 2, 4, ... up to the number of GPUs, or RANK_COUNTS.
rank_counts() {
  local count=1 all
  if [[ -n ${RANK_COUNTS:-} ]]; then
    printf '%s\n' $RANK_COUNTS # words
    return
  fi
  all=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
  for (( ; count == 1 || count <= all; count *= 2)); do echo $count; done
}

# measure_ranks NAME RANKS ARGUMENT...: perf_distributed, with PETSc where both engines are there; its results in OUT/NAME.json.
measure_ranks() {
  local name=$1 count=$2 measuring
  wanted "$name" || return 0
  shift 2
  say "$name"
  measuring=$(program perf_distributed_petsc)
  if on_ranks "$count" "${measuring:-$(program perf_distributed)}" "$@" --repetitions=3 "--benchmark_out=$out/$name.json" --benchmark_out_format=json \
    >"$out/$name.log" 2>&1; then
    rm -f "$out/$name.log"
    python3 "$source_dir/perf_tests/results_file.py" "$out/$name.json"
    tables+=("$out/$name.json")
  else
    failed "$name: the end of $out/$name.log:"
    tail -n 5 "$out/$name.log" >&2
    rm -f "$out/$name.json"
  fi
}

# both_transports MATRIX RANKS: exchanges and products of the matrix by NCCL, where the build has it, and by MPI from host memory.
part_ranks() {
  local matrix count name test
  test=$(program test_petsc)
  for count in $(rank_counts); do
    wanted "test_petsc_np$count" || continue
    say "test_petsc_np$count"
    [[ -n $test ]] || { say "left out: no such program below $build" && continue; }
    on_ranks "$count" "$test" --gtest_brief=1 >"$out/test_petsc_np$count.log" 2>&1 || failed "test_petsc on $count ranks"
    tail -n 3 "$out/test_petsc_np$count.log"
  done
  for matrix in ${RANK_MATRICES:-elasticity3d:50 poisson3d:160 elasticity3d:100}; do
    name=${matrix//[:,=]/_}
    for count in $(rank_counts); do
      measure_ranks "${name}_strong_np$count" "$count" "--matrix=$matrix" --scaling=strong --precond=fsai
      measure_ranks "${name}_adaptive_fsai_np$count" "$count" "--matrix=$matrix" --scaling=strong --precond=adaptive_fsai \
        --benchmark_filter=_adaptive_fsai
    done
    for count in $(rank_counts); do # on one rank it is the same
      [[ $count == 1 ]] || measure_ranks "${name}_weak_np$count" "$count" "--matrix=$matrix" --scaling=weak --precond=fsai
      [[ $count == 1 ]] || measure_ranks "${name}_mpi_np$count" "$count" "--matrix=$matrix" --scaling=strong --precond=fsai --transport=mpi
    done
  done
}

# ksp NAME RANKS MATRIX ARGUMENT...: its results in OUT/NAME.json.
ksp() {
  local name=$1 count=$2
  wanted "$name" || return 0
  shift 2
  say "$name"
  on_ranks "$count" "$(program peer_petsc_ksp)" "$@" -json "$out/$name.json" </dev/null || failed "$name"
}

# Multigrid over ranks: its phases and their exchanges.
part_ranks_amg() {
  local matrix count name method=${RANK_METHODS:-amg}
  for matrix in ${RANK_MATRICES:-elasticity3d:60 elasticity3d:100 elasticity3d:160 poisson3d:160 poisson3d:400}; do
    name=${matrix//[:,=]/_}
    for count in $(rank_counts); do
      measure_ranks "${name}_amg_np$count" "$count" "--matrix=$matrix" --scaling=strong "--precond=$method" --benchmark_filter=_amg
    done
  done
  for matrix in ${WEAK_MATRICES:-elasticity3d:100}; do
    name=${matrix//[:,=]/_}
    for count in $(rank_counts); do
      [[ $count == 1 ]] || measure_ranks "${name}_amg_weak_np$count" "$count" "--matrix=$matrix" --scaling=weak "--precond=$method" --benchmark_filter=_amg
    done
  done
}

# By each of KSP_METHODS in a run of its own, since some peers end with an error of the device.
# Multigrid with its peers: KSP_METHODS="prekond amg,gamg,hypre pmis,hypre aggressive" KSP_RHS=random KSP_MATRICES="elasticity3d:160 poisson3d:400".
part_ksp() {
  local matrix count name method rhs=${KSP_RHS:-a_ones}
  for matrix in ${KSP_MATRICES:-poisson3d:100 elasticity3d:40}; do
    name=${matrix//[:,=]/_}
    for count in $(rank_counts); do
      if [[ -z ${KSP_METHODS:-} ]]; then
        ksp "ksp_${name}_np$count" "$count" "$matrix" -mat_type aijcusparse -rhs "$rhs" -repeat 3
      else
        while read -r method; do
          ksp "ksp_${name}_${method//[ +,]/_}_np$count" "$count" "$matrix" -mat_type aijcusparse -rhs "$rhs" -repeat "${KSP_REPEAT:-3}" -methods "$method"
        done < <(tr ',' '\n' <<<"$KSP_METHODS")
      fi
    done
    [[ -n ${KSP_METHODS:-} ]] || ksp "ksp_${name}_2_cores" 2 "$matrix" -mat_type aij -rhs "$rhs" -repeat 1 -methods none,jacobi,bjacobi+icc,gamg
  done
}

# Block Jacobi over ranks by block ILU(0), with exact and inexact solves, for tables 2 to 4 and figures 10, 11, 13 to 15 of Ma et al. (2021): by
# GMRES(30) on GPUs, and by PETSc's on as many cores. The circuit is only in figures 10 and 11.
part_ranks_blocks() {
  local matrix count name rtol b methods
  for matrix in ${BLOCK_MATRICES:-convection_diffusion3d:114@3 convection_diffusion3d:108@4 irregular3d:63,unknowns=5,mean=77,longest=150@5 circuit:1260@2}; do
    name=${matrix//[:,=@]/_} b=${matrix##*@} rtol=1e-5
    [[ $matrix != irregular* ]] || rtol=1e-3
    [[ $matrix != circuit* ]] || rtol=1e-1
    methods=block_ilu0:solve.method=jacobi:solve.sweeps=3
    if [[ $matrix != circuit* ]]; then
      methods+=,block_ilu0:solve.method=levels,block_ilu0:solve.method=sync_free
      for count in 2 4 5; do methods+=,block_ilu0:solve.method=jacobi:solve.sweeps=$count; done
    fi
    for count in $(rank_counts); do
      PETSC_OPTIONS="-mat_type baij -mat_block_size $b" measure_ranks "blocks_${name}_np$count" "$count" "--matrix=$matrix" "--precond=$methods" \
        --solver=gmres:restart=30 "--rtol=$rtol" --rhs=ones '--benchmark_filter=(_block_ilu0|/exchange/|/product)'
      [[ $matrix == circuit* ]] || ksp "blocks_${name}_${count}_cores" "$count" "$matrix" -mat_type baij -solver gmres -rtol $rtol -rhs ones -repeat 3 -methods bjacobi+ilu
    done
  done
}

# Matrices by blocks, for results/h200/blocks; the real ones of MATRICES (default ../shared/matrices).
part_blocks() {
  local filter='^(product|symbolic|numeric|apply|gmres/dcgs2/(sync|jac)|cusparse|end)' folder=${MATRICES:-../shared/matrices}
  local real="$folder/spd/shallow_water1.mtx.gz@2;$folder/general/cage11.mtx.gz@3;$folder/general/cage11.mtx.gz@5"
  real="$real;$folder/spd/G2_circuit.mtx.gz@2"
  measure formats perf_formats --repetitions=3 --seconds=0.01 "--benchmark_filter=^(copy|csr|sell|bcsr|cusparse)" \
    "--matrices=elasticity3d:100;elasticity3d:60;irregular3d:70,unknowns=4,mean=46.1,longest=77,lonely=0.001;irregular3d:64,unknowns=2,mean=16.33,longest=31;irregular3d:60,unknowns=5,mean=60,longest=120;irregular3d:40,unknowns=8,mean=60,longest=120"
  measure convection perf_block_ilu "--matrices=convection_diffusion3d:114@3;convection_diffusion3d:108@4" --repetitions=3 \
    --orthogonalizations=dcgs2,steps4
  measure generated perf_block_ilu --orthogonalizations=dcgs2 --repetitions=3 "--benchmark_filter=$filter" \
    "--matrices=elasticity3d:60@3;elasticity3d:40@6;convection_diffusion3d:115@5;convection_diffusion3d:114@2"
  measure chain perf_block_ilu --matrices=convection_diffusion3d:114@5 --sweeps=3,6 --orthogonalizations=dcgs2 \
    --repetitions=1 "--benchmark_filter=^(product|symbolic|apply/(sync|jac)|gmres/dcgs2/jac|end)"
  measure basis perf_basis --rows=1500000
  measure gmres perf_krylov --matrix=convection_diffusion3d:114 "--benchmark_filter=/gmres/"
  measure gmres_small perf_krylov --matrix=convection_diffusion3d:40 "--benchmark_filter=/gmres/"
  measure fsai perf_fsai --matrix=elasticity3d:60 --block_size=3 --blocks=3
  measure isai perf_isai --matrix=elasticity3d:30 --blocks=3 --kinds=general
  [[ ! -d $folder ]] || measure real perf_block_ilu "--matrices=$real" --orthogonalizations=dcgs2 --repetitions=3 \
    "--benchmark_filter=$filter"
}

# Batches of small systems, for results/h200/batched; those of real patterns with the matrices of MATRICES (default
# ../shared/matrices).
part_batched() {
  local stencils='' real='' rows name file solvers=cg,bicgstab,gmres,idr
  for rows in 16 32 64 128 256 512; do stencils+=";stencil3:$rows"; done
  stencils=${stencils:1}
  measure stencil perf_batched "--matrices=$stencils" --solvers=$solvers \
    --preconds=none,jacobi,ic0,ilu0,isai,fsai,ilu_isai --one=0 --repetitions=3
  measure one perf_batched "--matrices=$stencils" --solvers=cg --preconds=jacobi --one=5 --repetitions=3
  measure direct perf_batched_direct "--matrices=$stencils;stencil3:1024;poisson2d:4;poisson2d:8" --repetitions=5
  measure kokkoskernels peer_kokkoskernels_batched "--matrices=${stencils%;*}" --repetitions=3
  measure scaling perf_batched --matrices=stencil3:64 --systems=1,10,100,1000,10000,100000,1000000 --solvers=cg \
    --preconds=none,jacobi --one=0 --repetitions=3
  for name in LFAT5 Trefethen_20 pivtol bfwb62 bcsstm02 ck104 olm100 bcsstk22 mesh3em5 494_bus mhdb416; do
    file=$(find "${MATRICES:-$source_dir/../shared/matrices}" -name "$name.mtx*" 2>/dev/null | head -n 1)
    [[ -z $file ]] || real+=";$file"
  done
  [[ -z $real ]] || measure real perf_batched "--matrices=${real:1}" --systems=20000 --solvers=bicgstab \
    --preconds=none,jacobi,ilu0,par_ilu,isai,ilu_isai --one=0 --repetitions=3
  for name in few vector team; do
    measure "lanes_$name" perf_batched --systems=5000 --preconds=jacobi,ilu0 "--lanes=$name" --one=0 --repetitions=3 \
      "--matrices=stencil3:16;stencil3:64;stencil3:256;stencil3:512;poisson2d:8;poisson2d:16;poisson2d:32;poisson3d:10"
  done
}

# table SCRIPT ARGUMENT...: one of the tables made by the command; what it had finished when time ran out stays.
table() {
  local script=$1
  wanted "$script" || return 0
  shift
  say "$script $1"
  timeout "$(left)" python3 "$source_dir/perf_tests/$script" "$@" --prekond "$(program prekond)" \
    --matrices "${MATRICES:-$source_dir/../shared/matrices/spd}" || failed "$script"
}

# paper NAME ARGUMENT...: the tables of a paper; what they had finished when time ran out stays.
paper() {
  local name=$1
  wanted "papers/$name.py" || return 0
  shift
  say "papers/$name.py"
  timeout "$(left)" python3 "$source_dir/perf_tests/papers/$name.py" measure --machine h200 --prekond "$(program prekond)" "$@" ||
    failed "papers/$name.py"
  cp "$source_dir/perf_tests/results/papers/${name}_h200.json" "$out"
}

part_tables() {
  paper spai
  if wanted toolbox_table.py; then
    say toolbox_table.py
    timeout "$(left)" python3 "$source_dir/perf_tests/toolbox_table.py" measure --out "$out/toolbox.json" \
      --prekond "$(program prekond)" --matrices "${MATRICES:-$source_dir/../shared/matrices}" --timeout 60 || failed toolbox_table.py
  fi
  paper adaptive_fsai --matrices "${MATRICES:-$source_dir/../shared/matrices/spd}" --programs "$build"
  table sweep_fsai.py --quick --out "$out" \
    --generated 'elasticity3d:40;elasticity3d:60;elasticity3d:40,contrast=1;poisson3d:100;poisson2d:1000;anisotropic2d:700'
}

# sanitize TOOL NAME PROGRAM ARGUMENT...: one line with the tool's summary, "NAME TOOL SUMMARY"; the log stays where something was found.
sanitize() {
  local tool=$1 name=$2 log=$out/sanitize_$1_$2.log code=0 found
  shift 2
  timeout "$sanitize_seconds" compute-sanitizer --tool "$tool" --print-limit 20 --error-exitcode 99 "$@" >"$log" 2>&1 || code=$?
  found=$(grep -Eo 'SUMMARY: .*' "$log" | tail -n 1) || found=''
  # 4: a solve has 20 iterations on purpose. 99: also of warnings, that is of races whose outcome does not matter.
  if [[ $code == 0 || $code == 4 || ($code == 99 && $found =~ \(0\ errors,\ [1-9]) ]] && [[ $found =~ SUMMARY:\ (0\ (errors|hazards)|.*\(0\ errors) ]]; then
    [[ $found == *warning* && $found != *"0 warnings"* ]] || rm -f "$log"
  else
    found="FAILED with exit code $code: ${found:-no summary}"
  fi
  printf '%s %s %s\n' "$name" "$tool" "$found"
}

# sanitize_cases: lines "NAME ARGUMENT..." of the command: a small solve with every preconditioner and every solver, and of batches.
sanitize_cases() {
  local program=$1 name list general='--generate convection_diffusion3d:6 --rhs random --max-iters 20'
  list=$("$program" list preconditioners | sed -E 's/^([a-z_0-9]+) .*aliases: (.*)$/\1, \2/; t; s/ .*//' |
    sed -E 's/\([^)]*\)//g' | tr ',' '\n')
  for name in $list; do
    if "$program" list preconditioners "$name" | grep -q '^for symmetric positive definite'; then
      echo "$name solve --generate elasticity3d:4 --rhs random --max-iters 20 --solver cg --precond $name"
    else
      echo "$name solve $general --solver fgmres --precond $name"
    fi
  done
  echo "amg_levels solve --generate elasticity3d:6 --max-iters 20 --precond amg -p coarse_size=20"
  echo "amg_classical solve --generate poisson2d:20 --max-iters 20 --precond amg -p coarse_size=20 coarsening=classical"
  echo "partition solve --generate poisson2d:40 --max-iters 20 --precond block_jacobi -p partition=multilevel block_size=16"
  echo "spai_long_columns solve $general --solver fgmres --precond spai -p power=3"
  echo "choice solve --generate poisson2d:40 --rhs random --max-iters 20"
  for name in $("$program" list solvers | sed 's/ .*//'); do
    [[ $name == cg ]] || echo "solver_$name solve $general --precond jacobi --solver $name"
    [[ $name != [cbg]* ]] || echo "batch_$name batch --generate stencil3:20,batch=9 --max-iters 20 --solver $name"
  done
  echo "match solve $general --solver gmres --precond ilu0 --match"
  echo "condition info --generate elasticity3d:4 --condition"
}

part_sanitize() {
  local program tool name case_of_test lines=$out/sanitize.txt
  local filter='*AdaptiveFsai*Textbook*:*AdaptiveFsai*Outgrow*:*AdaptiveFsai*Scratch*:*AdaptiveFsai*PatternFound*:FsaiTest*Edges*:FsaiTest*LowerTriangleGives*:*RowsBegin*:StoredFactors*'
  command -v compute-sanitizer >/dev/null || { failed "compute-sanitizer is not in PATH" && return 0; }
  program=$(program prekond)
  [[ -n $program ]] || { failed "sanitize: no prekond below $build" && return 0; }
  say 'compute-sanitizer'
  export out sanitize_seconds=$(($(left) / 3))
  export -f sanitize
  for tool in memcheck racecheck initcheck synccheck; do
    case_of_test=$(program test_precond)
    [[ -z $case_of_test || $tool == initcheck ]] || ! wanted test_precond || printf '%s test_precond %s --gtest_filter=%s\n' "$tool" "$case_of_test" "$filter"
    sanitize_cases "$program" | while read -r name line; do
      ! wanted "$name" || printf '%s %s %s %s\n' "$tool" "$name" "$program" "$line"
    done
  done | timeout "$(left)" xargs -P "${SANITIZE_JOBS:-8}" -I '{}' bash -c 'sanitize $1' bash '{}' | sort >"$lines"
  grep FAILED "$lines" >&2 && failed "compute-sanitizer: see $lines and the logs beside it"
  awk '{ ++all[$2] } !/FAILED/ { ++good[$2] } END { for (tool in all) printf "%s: nothing found in %d of %d runs\n", tool, good[tool], all[tool] }' "$lines"
}

# ------------------------------------------------------------------------------------------------------- main

[[ $# -ge 1 && -d $1 ]] || usage
build=$(cd "$1" && pwd -P)
out=${2:-$source_dir/perf_tests/results/h200}
parts=("${@:3}")
[[ ${#parts[@]} -gt 0 ]] || parts=(tests perf amg smoothers devices batched blocks tables sanitize)
mkdir -p "$out"
out=$(cd "$out" && pwd -P)
tables=()

if [[ -e $build/bin/nvcc_wrapper && -e $build/core/src ]]; then
  build_with "$build"
  build=$source_dir/build/cuda
fi
# Bound threads of several programs would share cores.
export OMP_PROC_BIND=${OMP_PROC_BIND:-false}
export PREKOND_TEST_MATRICES=${PREKOND_TEST_MATRICES:-$source_dir/unit_tests/matrices}

for part in "${parts[@]}"; do
  part_start=$SECONDS
  case $part in
    tests | perf | amg | smoothers | devices | ranks | ranks_amg | ranks_blocks | ksp | batched | blocks | tables | sanitize) "part_$part" ;;
    *) usage ;;
  esac
done

if [[ ${#tables[@]} -gt 0 ]]; then python3 "$source_dir/perf_tests/table.py" "${tables[@]}"; fi
[[ $failures == 0 ]] || { say "$failures failed" && exit 1; }
