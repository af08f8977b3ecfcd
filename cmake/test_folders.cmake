# Where programs under test write: neither to the user's caches and state nor to his tuning file. What
# PoCL compiles all builds share, as in scripts/lib.sh.
set(CONVOY_TEST_FOLDERS
  CONVOY_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache
  CONVOY_STATE_DIR=${PROJECT_BINARY_DIR}/test-state
  CONVOY_TUNE_FILE=${PROJECT_BINARY_DIR}/test-tune.txt
  POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/../cache/pocl)
