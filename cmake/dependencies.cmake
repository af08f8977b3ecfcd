# Finds OpenCL, CLBlast, OpenMP and OpenBLAS; sets CONVOY_HAVE_<X> and CONVOY_WHY_<X>.

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

macro(convoy_decide name found detail)
  if(CONVOY_${name} STREQUAL "OFF")
    set(CONVOY_HAVE_${name} OFF)
    set(CONVOY_WHY_${name} "switched off")
  elseif(${found})
    set(CONVOY_HAVE_${name} ON)
    set(CONVOY_WHY_${name} "${detail}")
  elseif(CONVOY_${name} STREQUAL "ON")
    message(FATAL_ERROR "CONVOY_${name}=ON, but it was not found")
  else()
    set(CONVOY_HAVE_${name} OFF)
    set(CONVOY_WHY_${name} "not found")
  endif()
endmacro()

if(NOT CONVOY_OPENCL STREQUAL "OFF")
  find_package(OpenCL QUIET)
endif()
set(found OFF)
if(OpenCL_FOUND)
  set(found ON)
endif()
convoy_decide(OPENCL ${found} "${OpenCL_LIBRARIES}")

set(found OFF)
if(CONVOY_HAVE_OPENCL AND NOT CONVOY_CLBLAST STREQUAL "OFF")
  find_path(CLBLAST_INCLUDE_DIR clblast_c.h)
  find_library(CLBLAST_LIBRARY clblast)
  if(CLBLAST_INCLUDE_DIR AND CLBLAST_LIBRARY)
    set(found ON)
  endif()
endif()
convoy_decide(CLBLAST ${found} "${CLBLAST_LIBRARY}")

# The compiler's own runtime: GCC's comes with it, clang's is a package of its own.
set(found OFF)
if(NOT CONVOY_OPENMP STREQUAL "OFF")
  find_package(OpenMP QUIET COMPONENTS C)
  if(OpenMP_C_FOUND)
    set(found ON)
    list(GET OpenMP_C_LIB_NAMES 0 openmp)
  endif()
endif()
convoy_decide(OPENMP ${found} "${OpenMP_${openmp}_LIBRARY}")

# The OpenMP build first: kept to one thread per call it may be called from many threads at once. The
# serial build has no lock around its buffers (measured: wrong products when two threads call it), and
# the pthread build's own threads cannot be limited per call: src/cpu calls both from one thread only.
set(found OFF)
if(NOT CONVOY_OPENBLAS STREQUAL "OFF")
  find_path(OPENBLAS_INCLUDE_DIR cblas.h
    PATH_SUFFIXES openblas-openmp openblas-serial openblas openblas-pthread)
  set(OPENBLAS_LIBRARY OPENBLAS_LIBRARY-NOTFOUND CACHE FILEPATH "OpenBLAS")
  foreach(variant openblas-openmp openblas-serial)
    find_library(OPENBLAS_LIBRARY openblas
      PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib /usr/local/lib
      PATH_SUFFIXES ${variant} NO_DEFAULT_PATH)
  endforeach()
  find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-pthread)
  if(OPENBLAS_INCLUDE_DIR AND OPENBLAS_LIBRARY)
    set(found ON)
  endif()
endif()
convoy_decide(OPENBLAS ${found} "${OPENBLAS_LIBRARY}")
