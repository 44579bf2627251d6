package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	got := flags([]string{"KERNSTASH_MAX_SIZE=3MiB", "KERNSTASH_EVICTION=lru", "KERNSTASH_REMOTE=redis://u:secret@h", "KERNSTASH_REMOTE_SIGN_KEY=/k", "KERNSTASH_TENANT=a"})
	if diff := cmp.Diff([]string{"max-size=3MiB", "eviction=lru"}, got); diff != "" {
		t.Error(diff)
	}
}
