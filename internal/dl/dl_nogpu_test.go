//go:build nogpu

package dl_test

import (
	"errors"
	"testing"

	"github.com/kernstash/kernstash/internal/dl"
)

func TestOpenSaysThatThisBuildHasNoRuntimes(t *testing.T) {
	if _, err := dl.Open("libc.so.6"); !errors.Is(err, dl.ErrUnsupported) {
		t.Errorf("err = %v, want ErrUnsupported", err)
	}
}
