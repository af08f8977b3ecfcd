# What pip puts into the Python package: the library beside _load.py, worker and module beside the
# library, tuning files where it looks for them. Wheels hold no symbolic links, so the library goes in
# under one plain name.

set_property(TARGET convoy PROPERTY VERSION)
set_property(TARGET convoy PROPERTY SOVERSION)
install(TARGETS convoy LIBRARY DESTINATION convoy COMPONENT python)
foreach(target convoy-worker convoy-ocl)
  if(TARGET ${target})
    install(TARGETS ${target}
      RUNTIME DESTINATION convoy/${CONVOY_LIBEXEC} COMPONENT python
      LIBRARY DESTINATION convoy/${CONVOY_LIBEXEC} COMPONENT python)
  endif()
endforeach()
foreach(file IN LISTS tuning_files)
  install(FILES ${file} DESTINATION convoy/share/convoy/tune COMPONENT python)
endforeach()
