#!/bin/sh
# types.sh ROOT: no two types of src and tools have one name, nor two inline functions of its headers. An opaque type
# may be declared in many places, but has one definition. Definitions begin and end as .clang-format writes
# them.
set -eu
cd "$1"

# cvy_device: each backend defines its own; runtime_queue: each runtime of the engine. real, bits, mask: so does each engine of programs, whose
# functions are written in these words (src/program/program_functions.h). The others are to be renamed.
exceptions='cvy_device runtime_queue real bits mask ll place tile_choice'

definitions() { # files: the name and the place of each definition
  awk '
    function found(name) { print name, FILENAME ":" FNR }
    /^typedef (struct|union|enum) [a-z_0-9]+ [a-z_0-9]+;/ { next } # only a declaration
    /^typedef (struct|union|enum)( [a-z_0-9]+)? [{]$/ { block = 1; next }
    block && /^[}] [a-z_0-9]+/ { sub(/;.*/, "", $2); found($2); block = 0; next }
    /^(struct|union|enum) [a-z_0-9]+ [{]$/ { found($2); next }
    /^typedef / { text = ""; simple = 1 }
    simple {
      text = text " " $0
      if (text !~ /;/) next
      simple = 0
      sub(/ __attribute__.*/, ";", text)
      if (match(text, /[(][*][a-z_0-9]+[)]/)) name = substr(text, RSTART + 2, RLENGTH - 3)
      else if (match(text, /[a-z_0-9]+[(]/)) name = substr(text, RSTART, RLENGTH - 1)
      else { sub(/(\[[^]]*\])?;.*/, "", text); name = text; sub(/.*[ *]/, "", name) }
      found(name)
    }
    FILENAME ~ /[.]h$/ && /^static inline / && match($0, /cvy_[a-z_0-9]+[(]/) {
      found(substr($0, RSTART, RLENGTH - 1))
    }
  ' "$@"
}

# shellcheck disable=SC2046 # names without blanks
definitions $(find src tools -name '*.[ch]' | sort) | sort | awk -v exceptions="$exceptions" '
  function fault(text) { print text; faults++ }
  BEGIN { split(exceptions, list, " "); for (i in list) excepted[list[i]] = 1 }
  { file = $2; sub(/:.*/, "", file) }
  $1 == before && file == home { next } # the alternatives of an #if
  $1 != before { names++ }
  $1 == before && $1 in excepted { met[$1] = 1 }
  $1 == before && !($1 in excepted) { fault($2 ": " $1 " is also defined in " place) }
  { before = $1; place = $2; home = file }
  END {
    for (name in excepted) if (!(name in met)) fault(name " is no exception any more")
    print names " names, " faults + 0 " faults"
    exit faults > 0 || names < 100
  }
'
