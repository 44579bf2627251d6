//go:build linux

package hosts_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kernstash/kernstash/internal/cbuild"
)

// Where the thread that a call needs cannot be made, the ticket is still to be ended: one
// that was lost would hold its program's lock for as long as the process lives.
func TestTicketIsKeptWhereThereIsNoThread(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "ticket")
	args := append([]string{"-g", "-O1", "-I../../../capi", "-o", program}, cbuild.Warnings...)
	args = append(args, "../testdata/ticket.c", "../../../capi/front/enter.c", "../../../capi/front/front.c", "-pthread", "-Wl,--wrap=pthread_create")
	if out, err := exec.Command(cbuild.CC(), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
