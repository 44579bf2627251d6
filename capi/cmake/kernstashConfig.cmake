# find_package(kernstash) gives the target kernstash::kernstash. Relocatable: it lies
# in <libraries>/cmake/kernstash.
get_filename_component(_kernstash_libraries "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_path(_kernstash_include kernstash.h
	PATHS "${_kernstash_libraries}/../include" "${_kernstash_libraries}/../../include"
	NO_DEFAULT_PATH NO_CACHE)
if(NOT _kernstash_include OR NOT EXISTS "${_kernstash_libraries}/libkernstash.so.1")
	set(kernstash_FOUND FALSE)
	set(kernstash_NOT_FOUND_MESSAGE "kernstash.h or libkernstash.so.1 is not beside ${CMAKE_CURRENT_LIST_DIR}")
	unset(_kernstash_libraries)
	unset(_kernstash_include)
	return()
endif()
if(NOT TARGET kernstash::kernstash)
	add_library(kernstash::kernstash SHARED IMPORTED)
	set_target_properties(kernstash::kernstash PROPERTIES
		IMPORTED_LOCATION "${_kernstash_libraries}/libkernstash.so.1"
		IMPORTED_SONAME libkernstash.so.1
		INTERFACE_INCLUDE_DIRECTORIES "${_kernstash_include}")
endif()
unset(_kernstash_libraries)
unset(_kernstash_include)
