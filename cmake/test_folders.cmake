# Where programs under test write: neither to the user's caches and state nor to his tuning file, and only
# in the build folder. What PoCL compiles all presets' builds share, as in scripts/lib.sh.
cmake_path(GET PROJECT_BINARY_DIR PARENT_PATH above)
if(above STREQUAL "${PROJECT_SOURCE_DIR}/build")
  set(shared ${above}/cache)
else()
  set(shared ${PROJECT_BINARY_DIR}/cache)
endif()
set(CONVOY_TEST_FOLDERS
  CONVOY_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache
  CONVOY_STATE_DIR=${PROJECT_BINARY_DIR}/test-state
  CONVOY_TUNE_FILE=${PROJECT_BINARY_DIR}/test-tune.txt
  POCL_CACHE_DIR=${shared}/pocl)
