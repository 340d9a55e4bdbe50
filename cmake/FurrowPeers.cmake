# Libraries in C++ that tests and benchmarks compare with. furrow_peer_<name> is what a program with that library links;
# it is empty when the library or a compiler for it is not installed.

if(NOT CMAKE_CXX_COMPILER)
  unset(CMAKE_CXX_COMPILER CACHE)
endif()
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  return()
endif()
enable_language(CXX)

find_path(Dmlc_INCLUDE_DIR dmlc/data.h)
find_library(Dmlc_LIBRARY dmlc)
if(Dmlc_INCLUDE_DIR AND Dmlc_LIBRARY)
  set(furrow_peer_dmlc ${Dmlc_LIBRARY} Threads::Threads)
endif()

find_path(Faiss_INCLUDE_DIR faiss/IndexIVFPQ.h)
find_library(Faiss_LIBRARY faiss)
find_library(Faiss_LAPACK lapack)
find_library(Faiss_BLAS blas)
find_package(OpenMP QUIET COMPONENTS CXX)
if(Faiss_INCLUDE_DIR AND Faiss_LIBRARY AND Faiss_LAPACK AND Faiss_BLAS AND OpenMP_CXX_FOUND)
  set(furrow_peer_faiss ${Faiss_LIBRARY} ${Faiss_LAPACK} ${Faiss_BLAS} OpenMP::OpenMP_CXX)
endif()
