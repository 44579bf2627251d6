//go:build linux && cgo

#include "entries.h"

#include "_cgo_export.h"
#include "start.h"

static const struct ks_front *front;

__attribute__((visibility("default"))) bool ks_go_start(int private, const struct ks_front *f, struct ks_go *go)
{
	if (private != ks_private)
		return false;
	front = f;
	go->call = ks_go_call;
	go->threads = ks_threads;
	return true;
}

const char *ks_library_path(void)
{
	return front->path;
}

void ks_post(ks_ticket *t, uint32_t action)
{
	front->post(t, action);
}

void ks_wake(uint32_t event)
{
	front->wake(event);
}

ks_blob *ks_blob_new(const kernstash_artifact *a)
{
	return front->blob_new(a);
}

ks_blob *ks_blob_use(ks_blob *b)
{
	return front->blob_use(b);
}

void ks_blob_unuse(ks_blob *b)
{
	front->blob_unuse(b);
}
