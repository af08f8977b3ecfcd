# What was found, said once at the end of configuring.

message(STATUS "")
message(STATUS "Convoy ${PROJECT_VERSION}")
message(STATUS "  OpenCL engine     ${CONVOY_HAVE_OPENCL} (${CONVOY_WHY_OPENCL})")
message(STATUS "  ocl.*_clblast     ${CONVOY_HAVE_CLBLAST} (CLBlast: ${CONVOY_WHY_CLBLAST})")
message(STATUS "  cpu.im2col, cpu.matmul_blas ${CONVOY_HAVE_OPENBLAS} (OpenBLAS: ${CONVOY_WHY_OPENBLAS})")
message(STATUS "  OpenMP's threads  ${CONVOY_HAVE_OPENMP} (${CONVOY_WHY_OPENMP})")
message(STATUS "  tests ${CONVOY_TESTS}, tools ${CONVOY_TOOLS}, examples ${CONVOY_EXAMPLES}")
message(STATUS "")
