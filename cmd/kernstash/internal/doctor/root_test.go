package doctor

import (
	"testing"
)

func TestCheckFileSystem(t *testing.T) {
	t.Parallel()
	r := &Report{OK: true}
	r.checkFileSystem("root", t.TempDir()+"/not/there/yet")
	if len(r.Findings) == 0 || !r.OK {
		t.Errorf("%+v", r)
	}
}
