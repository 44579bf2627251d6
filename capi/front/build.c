#include "front.h"

/* The ticket whose build this thread is in; 0: in none. */
static __thread uintptr_t current;

bool ks_in_build(void) { return current != 0; }

/* What a call of the callback needs when it is left, in whatever way. */
struct frame {
	kernstash_lookup *lookup;
	uintptr_t outer; /* what current was */
	bool left;       /* by an exception */
};

static void finish(kernstash_lookup *l, int result)
{
	ks_lookup_call c = {.result = result};
	ks_ticket *t = &l->ticket;

	if (t->go == 0)
		return;
	atomic_store_explicit(&t->action, ks_act_none, memory_order_relaxed);
	if (ks_lookup_ask(l, ks_go_finish, &c) != KERNSTASH_OK)
		atomic_store_explicit(&t->action, ks_act_alone, memory_order_relaxed);
}

static void leave(struct frame *f)
{
	kernstash_lookup *l = f->lookup;

	current = f->outer;
	l->building = false;
	if (!f->left)
		return;
	/* An exception is on its way through: others must not wait for us. */
	finish(l, ks_broken);
	if (l->ticket.go != 0)
		ks_await(&l->ticket);
}

/* Calls the callback, and says how it ended: ks_built, ks_refused, ks_broken. */
static int call(kernstash_lookup *l, kernstash_build_fn build, void *user)
{
	__attribute__((cleanup(leave))) struct frame f = {l, current, true};

	ks_lookup_clear_failure(l);
	l->blob = NULL;
	l->building = true;
	l->missed_at = ks_now();
	if (l->ticket.go != 0)
		current = l->ticket.go;
	int code = build(user, l);
	f.left = false;
	if (code == 0 && l->blob != NULL)
		return ks_built;
	l->failed = true;
	l->blob = NULL;
	if (code == 0)
		ks_fail(KERNSTASH_BUILD_FAILED, "the build set no binary");
	else
		ks_fail(KERNSTASH_BUILD_FAILED, "the build returned %d", code);
	if (l->fail_said)
		return ks_refused;
	l->fail_code = code;
	return ks_broken;
}

/* The cache is of no use: build without. */
static int alone(kernstash_lookup *l, kernstash_build_fn build, void *user)
{
	if (l->blob != NULL)
		return KERNSTASH_OK; /* it was built, and then something went wrong */
	l->ticket.go = 0;
	return call(l, build, user) == ks_built ? KERNSTASH_OK : KERNSTASH_BUILD_FAILED;
}

/* Takes over what a failure of the ticket says. */
static int failed(kernstash_lookup *l)
{
	ks_ticket *t = &l->ticket;

	l->blob = NULL;
	if (t->status == KERNSTASH_BUILD_FAILED) {
		ks_lookup_clear_failure(l);
		l->failed = true;
		l->fail_code = t->code;
		l->fail_log = t->log;
		t->log = NULL;
	}
	return ks_fail(t->status, "%s", t->detail);
}

int kernstash_lookup_get_or_build(kernstash_lookup *l, kernstash_build_fn build, void *user)
{
	ks_lookup_call c = {.parent = current};

	if (l == NULL || build == NULL)
		return ks_fail(KERNSTASH_INVALID, "get or build: NULL");
	if (l->building)
		return ks_fail(KERNSTASH_CYCLE, "get or build: within the build of the same lookup");
	int result = ks_lookup_has_key(l);
	if (result != KERNSTASH_OK)
		return result;
	if (l->blob != NULL)
		return KERNSTASH_OK;
	ks_lookup_clear_failure(l);
	ks_ticket *t = &l->ticket;
	memset(t, 0, sizeof *t);
	if (ks_lookup_ask(l, ks_go_begin, &c) != KERNSTASH_OK)
		atomic_store_explicit(&t->action, ks_act_alone, memory_order_relaxed);
	for (;;) {
		switch (ks_await(t)) {
		case ks_act_build:
			result = call(l, build, user);
			finish(l, result);
			break;
		case ks_act_done:
			t->go = 0;
			if (l->blob == t->blob && l->blob != NULL) { /* our own; it has a use of it */
				ks_blob_unuse(t->blob);
				return KERNSTASH_OK;
			}
			if (ks_lookup_take(l, t->blob, t->origin))
				return KERNSTASH_OK;
			ks_blob_unuse(t->blob);
			return ks_fail(KERNSTASH_NO_MEMORY, "get or build");
		case ks_act_failed:
			t->go = 0;
			return failed(l);
		default:
			t->go = 0;
			return alone(l, build, user);
		}
	}
}

int kernstash_lookup_fail(kernstash_lookup *l, int code, const char *log)
{
	if (l == NULL || !l->building)
		return ks_fail(KERNSTASH_INVALID, "fail: not within a build");
	char *copy = strdup(log != NULL ? log : "");
	if (copy == NULL)
		return ks_fail(KERNSTASH_NO_MEMORY, "fail");
	free(l->fail_log);
	l->fail_log = copy;
	l->fail_code = code;
	l->fail_said = true;
	return KERNSTASH_OK;
}

int kernstash_lookup_failure(const kernstash_lookup *l, int *code, const char **log)
{
	if (l == NULL)
		return ks_fail(KERNSTASH_INVALID, "failure: NULL");
	if (!l->failed)
		return ks_fail(KERNSTASH_NOT_FOUND, "failure: no build failed");
	if (code != NULL)
		*code = l->fail_code;
	if (log != NULL)
		*log = l->fail_log != NULL ? l->fail_log : "";
	return KERNSTASH_OK;
}
