package elevated

import "testing"

func TestSecure(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		vector [][2]uintptr
		want   bool
	}{
		{nil, false},
		{[][2]uintptr{{6, 4096}, {23, 0}}, false},
		{[][2]uintptr{{6, 4096}, {23, 1}, {25, 7}}, true},
	} {
		if got := secure(test.vector); got != test.want {
			t.Errorf("%v: %v", test.vector, got)
		}
	}
	if Now() {
		t.Error("this process has no rights beyond its user's")
	}
}
