//go:build linux && cgo

#include "_cgo_export.h"
#include "start.h"

const struct ks_front *ks_front;
_Atomic int32_t ks_unwritten;

__attribute__((visibility("default"))) bool ks_go_start(int private, const struct ks_front *f, struct ks_go *go)
{
	if (private != ks_private)
		return false;
	ks_front = f;
	go->call = ks_go_call;
	go->threads = ks_threads;
	go->unwritten = &ks_unwritten;
	return true;
}
