package remotetest_test

import (
	"testing"

	"github.com/kernstash/kernstash/store/remote"
	"github.com/kernstash/kernstash/store/remote/remotetest"
)

func TestMemoryEngine(t *testing.T) {
	t.Parallel()
	remotetest.RunObjects(t, func(*testing.T) remote.Objects { return new(remotetest.Memory) })
}
