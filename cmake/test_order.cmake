# When tests run. ctest starts what takes longest first, so that nothing long is left alone at the end, and
# what mostly waits runs beside what computes: a test takes two halves of a processor, one that waits takes
# one, and `ctest -j` counts halves. The numbers are seconds on two processors; what is missing takes less
# than four. tests/README.md says what may take how long.
set(CONVOY_TEST_SECONDS
  ocl_rows=41 algos_pocl_few=32 pool_device=30 train_fashion_losses=27 standin_cuda_torture=24
  faults_worker_killed=24 algos_cpu=22 pool_cpu=22 tool_bench=20 standin_cuda_selftest_in_process=18 program_arrays_ocl=17 ocl_programs=15
  train_fashion_devices=14 faults_gfx1010=13 standin_hip_torture=12 core_growth=12 faults_torture=12
  ocl_view_rows=11 tool_interrupted=11 train_fashion_killed=11 tool_scripts=10 tool_checks=9
  standin_cuda_faults=9 cpu_settings=8 cpu_settings_pool=8 props_pocl=7 program_ocl=7
  program_arrays_ocl_optimised=7 ocl_generated_rows=6 standin_cuda_generated_rows=6 matmul_device=6
  captures_pocl=5 places_pocl=5 standin_hip_generated_rows=5 standin_cuda_enqueue=5 ocl_matmul_rows=5
  train_fashion_opencl=5 standin_cuda_launch_parts=5 ocl_matmul_simulator=5 nothing_device=5)
set(CONVOY_TEST_WAITS
  faults_stopped=37 cpu_watchdog=25 cpu_watchdog_pool=25 worker_hang=21
  faults_compiling=17 worker_uncharged=14 faults_compile_workers=6 worker_fetch=5 worker_lane=4
  worker_process=4 core_compile_workers=4 faults_worker_idle=4 core_degradation=3 worker_start=2 faults_cpu_only=3)

# Labelled slow, and left out under sanitizers by .ci/run: what trains for long, goes through long lists of
# shapes or repeats itself with other settings, while other tests take the same code through a part of it; and
# what runs hardly any code of ours.
set(CONVOY_TEST_SLOW algos_cpu pool_device props_pocl ocl_rows ocl_programs faults_torture faults_gfx1010
  tool_bench tool_checks tool_interrupted tool_reports tool_scripts tool_tune cpu_settings cpu_settings_pool
  cpu_watchdog_pool program_arrays_openmp program_arrays_pool program_reduce_openmp program_reduce_pool
  train_fashion_steps train_fashion_losses train_fashion_rest train_fashion_opencl train_fashion_devices
  train_fashion_killed unit_gradients_of_programs)

# convoy_test_order(<ctest name>): what these lists say of a test, whose labels are set.
function(convoy_test_order name)
  set(halves 2)
  foreach(kind SECONDS WAITS)
    foreach(row IN LISTS CONVOY_TEST_${kind})
      if(row MATCHES "^${name}=(.+)$")
        set_tests_properties(${name} PROPERTIES COST ${CMAKE_MATCH_1})
        if(kind STREQUAL WAITS)
          set(halves 1)
        endif()
      endif()
    endforeach()
  endforeach()
  set_tests_properties(${name} PROPERTIES PROCESSORS ${halves})
  if(name IN_LIST CONVOY_TEST_SLOW)
    set_property(TEST ${name} APPEND PROPERTY LABELS slow)
  endif()
endfunction()
