/*
 * driver.h: the driver's functions in which it compiles. They are next's, with the
 * signals of crashes as they would be without the library (see library_compiles)
 * until the driver is through: where it is to call back, until it does.
 */
#ifndef KERNSTASH_DRIVER_H
#define KERNSTASH_DRIVER_H

#include "shim.h"

cl_int driver_build(cl_program program, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify,
	void *user_data);
cl_int driver_compile(cl_program program, cl_uint n, const cl_device_id *list, const char *options, cl_uint nheaders,
	const cl_program *headers, const char **names, notify_fn notify, void *user_data);
cl_program driver_link(cl_context context, cl_uint n, const cl_device_id *list, const char *options, cl_uint ninputs,
	const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code);

#endif
