/* driver.c: calls of the driver in which it compiles. */
#include "shim.h"

/* A compilation that may go on for longer than the call that began it. */
struct watch {
	notify_fn notify;
	void *user_data;
	atomic_bool ended;
	atomic_uint references; /* the call's, and the call back's */
};

static void put(struct watch *w)
{
	if (atomic_fetch_sub(&w->references, 1) == 1)
		free(w);
}

static void end(struct watch *w)
{
	if (!atomic_exchange(&w->ended, true))
		library_compiles(false);
}

/* What the application is called for may build programs itself. */
static void CL_CALLBACK watched(cl_program program, void *argument)
{
	struct watch *w = argument;
	notify_fn notify = w->notify;
	void *user_data = w->user_data;
	end(w);
	put(w);
	notify(program, user_data);
}

/* Begins a compilation. Compilers keep variables of their first one (IGC), whoever asked
 * for it: the library is to look at them. Where the driver is to call back, it is to call us. NULL: it
 * is not, or there is no memory; then it is taken to be through when it returns. */
static struct watch *begin(notify_fn *notify, void **user_data, int *cancel)
{
	*cancel = library_uncancelled();
	if (!in_own_call()) {
		struct message m = {0};
		message_number(&m, KSF_COMPILES, 0, 0);
		library_told(&m);
	}
	struct watch *w = *notify == NULL ? NULL : malloc(sizeof(*w));
	if (w != NULL) {
		*w = (struct watch){.notify = *notify, .user_data = *user_data, .references = 2};
		*notify = watched;
		*user_data = w;
	}
	library_compiles(true);
	return w;
}

/* After an error there may be no call back, or it may come yet: its reference is left to it. */
static void returned(struct watch *w, bool failed, int cancel)
{
	if (w == NULL)
		library_compiles(false);
	else if (failed)
		end(w);
	if (w != NULL)
		put(w);
	library_cancelled(cancel);
}

cl_int driver_build(cl_program program, cl_uint n, const cl_device_id *list, const char *options, notify_fn notify,
	void *user_data)
{
	int cancel;
	struct watch *w = begin(&notify, &user_data, &cancel);
	cl_int code = next.clBuildProgram(program, n, list, options, notify, user_data);
	returned(w, code != CL_SUCCESS, cancel);
	return code;
}

cl_int driver_compile(cl_program program, cl_uint n, const cl_device_id *list, const char *options, cl_uint nheaders,
	const cl_program *headers, const char **names, notify_fn notify, void *user_data)
{
	int cancel;
	struct watch *w = begin(&notify, &user_data, &cancel);
	cl_int code = next.clCompileProgram(program, n, list, options, nheaders, headers, names, notify, user_data);
	returned(w, code != CL_SUCCESS, cancel);
	return code;
}

cl_program driver_link(cl_context context, cl_uint n, const cl_device_id *list, const char *options, cl_uint ninputs,
	const cl_program *inputs, notify_fn notify, void *user_data, cl_int *code)
{
	int cancel;
	struct watch *w = begin(&notify, &user_data, &cancel);
	cl_program program = next.clLinkProgram(context, n, list, options, ninputs, inputs, notify, user_data, code);
	returned(w, program == NULL || *code != CL_SUCCESS, cancel);
	return program;
}
