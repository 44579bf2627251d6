/* compile.c: clCompileProgram and clLinkProgram, which are the driver's. */
#include "shim.h"

cl_int CL_API_CALL ks_clCompileProgram(cl_program handle, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint nheaders, const cl_program *headers, const char **names, notify_fn notify, void *user_data)
{
	struct program *p = program_get(handle);
	if (p != NULL) {
		struct shadow *s = program_shadow(p);
		state_lock();
		bool kernels = p->kernels > 0;
		state_unlock();
		if (s != NULL && kernels) {
			shadow_put(s);
			program_put(p);
			return CL_INVALID_OPERATION;
		}
		if (s != NULL)
			program_set_shadow(p, NULL, 0);
		shadow_put(s);
		if (program_devices(p)) {
			state_lock();
			p->built |= program_set(p, p->ndevices, p->devices);
			state_unlock();
		}
		if (!stepped_aside())
			library_passed("compile");
		program_put(p);
	}
	return next.clCompileProgram(handle, n, list, options, nheaders, headers, names, notify, user_data);
}

cl_program CL_API_CALL ks_clLinkProgram(cl_context context, cl_uint n, const cl_device_id *list, const char *options,
	cl_uint ninputs, const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code)
{
	/* What was restored is unbuilt in the driver, which would find another fault
	 * with it than it would have found. */
	for (cl_uint i = 0; inputs != NULL && i < ninputs; i++) {
		struct program *p = program_get(inputs[i]);
		if (p != NULL) {
			program_settle(p);
			program_put(p);
		}
	}
	cl_program handle = next.clLinkProgram(context, n, list, options, ninputs, inputs, notify, user_data, code);
	if (handle != NULL && !stepped_aside()) {
		program_add(handle, FROM_LINK, 0, "link");
		library_passed("link");
	}
	return handle;
}
