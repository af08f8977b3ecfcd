# convoy_flags: an interface target with what all our own code is compiled with.

add_library(convoy_flags INTERFACE)
target_include_directories(convoy_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(convoy_flags INTERFACE _GNU_SOURCE)
target_compile_options(convoy_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith
  -Wwrite-strings -Wundef -fno-math-errno -ffp-contract=off)
if(CONVOY_WERROR)
  target_compile_options(convoy_flags INTERFACE -Werror)
endif()
if(CONVOY_COVERAGE)
  # Atomic: threads that count at the same time lose counts, down to negative ones.
  target_compile_options(convoy_flags INTERFACE --coverage -fprofile-update=atomic -O1)
  target_link_options(convoy_flags INTERFACE --coverage)
endif()
if(CONVOY_SANITIZE)
  target_compile_options(convoy_flags INTERFACE
    -fsanitize=${CONVOY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g -O1)
  target_link_options(convoy_flags INTERFACE -fsanitize=${CONVOY_SANITIZE})
endif()
