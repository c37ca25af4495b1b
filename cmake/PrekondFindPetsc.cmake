# SPDX-FileCopyrightText: Prekond contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# PETSc as target PkgConfig::PETSC, where pkg-config finds it; PETSC_DIR and PETSC_ARCH, variables or of the
# environment, go before other places. An installed Prekond has this file too.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT TARGET PkgConfig::PETSC)
  set(_prekond_pkg_config_path "$ENV{PKG_CONFIG_PATH}")
  foreach(_variable PETSC_DIR PETSC_ARCH)
    set(_prekond_${_variable} "${${_variable}}")
    if(NOT _prekond_${_variable})
      set(_prekond_${_variable} "$ENV{${_variable}}")
    endif()
  endforeach()
  if(_prekond_PETSC_DIR)
    set(ENV{PKG_CONFIG_PATH} "${_prekond_PETSC_DIR}/${_prekond_PETSC_ARCH}/lib/pkgconfig:${_prekond_pkg_config_path}")
  endif()
  pkg_check_modules(PETSC QUIET IMPORTED_TARGET GLOBAL PETSc>=3.23)
  set(ENV{PKG_CONFIG_PATH} "${_prekond_pkg_config_path}")
  if(TARGET PkgConfig::PETSC)
    # Debian's file has flags of its own for compilers (-D_FORTIFY_SOURCE=2), which are for its packages.
    set_property(TARGET PkgConfig::PETSC PROPERTY INTERFACE_COMPILE_OPTIONS "")
    # Are its scalars double? OFF where that is not found out.
    set(PREKOND_PETSC_DOUBLE OFF)
    foreach(_prekond_folder IN LISTS PETSC_INCLUDE_DIRS)
      if(EXISTS ${_prekond_folder}/petscconf.h)
        file(STRINGS ${_prekond_folder}/petscconf.h _prekond_double REGEX "PETSC_USE_REAL_DOUBLE")
        if(_prekond_double)
          set(PREKOND_PETSC_DOUBLE ON)
        endif()
      endif()
    endforeach()
  endif()
endif()
