/*
 * appends.c: a layer of somebody else's that appends options to every build and compilation,
 * from the variable APPENDS, as CLIntercept does with AppendBuildOptions.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_layer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static cl_icd_dispatch ours, next;

static cl_int CL_API_CALL build(cl_program p, cl_uint n, const cl_device_id *list, const char *options,
	void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	char text[4096];
	const char *more = getenv("APPENDS");
	snprintf(text, sizeof(text), "%s %s", options == NULL ? "" : options, more == NULL ? "" : more);
	return next.clBuildProgram(p, n, list, text, notify, data);
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *to, size_t *ret);
EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *to, size_t *ret)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value = what == CL_LAYER_API_VERSION ? (const void *)&version : "appends";
	size_t size = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof("appends");
	if (to != NULL && room < size)
		return CL_INVALID_VALUE;
	if (to != NULL)
		memcpy(to, value, size);
	if (ret != NULL)
		*ret = size;
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret, const cl_icd_dispatch **to);
EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret, const cl_icd_dispatch **to)
{
	const size_t most = sizeof(ours) / sizeof(void *);
	memcpy((void *)&next, (const void *)target, (n < most ? n : most) * sizeof(void *));
	ours = next;
	ours.clBuildProgram = build;
	*n_ret = (cl_uint)(n < most ? n : most);
	*to = &ours;
	return CL_SUCCESS;
}
