# cmake -DOUT=file.c -DHEADER=file.h -DSOURCES=a.cl,b.cl -P embed.cmake
# Writes the kernel sources as C strings, `cvy_cl_<name>` for <name>.cl, each beginning with a #line
# so that a compiler's message names the file; and their declarations.

set(text "#include \"cl/sources.h\"\n")
set(header "/* Written by cl/embed.cmake. */\n")
string(REPLACE "," ";" sources "${SOURCES}")
foreach(source IN LISTS sources)
  get_filename_component(file ${source} NAME)
  get_filename_component(name ${source} NAME_WE)
  string(APPEND header "extern const char cvy_cl_${name}[];\n")
  file(READ ${source} body)
  string(REPLACE "\\" "\\\\" body "${body}")
  string(REPLACE "\"" "\\\"" body "${body}")
  string(REPLACE "\n" "\\n\"\n  \"" body "${body}")
  string(APPEND text "\nconst char cvy_cl_${name}[] =\n"
    "  \"#line 1 \\\"${file}\\\"\\n\"\n  \"${body}\";\n")
endforeach()
file(WRITE ${OUT} "${text}")
file(WRITE ${HEADER} "${header}")
