package builder

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/gpu/tool"
)

// TestPartRequest: a process of our own gets the options that we got.
func TestPartRequest(t *testing.T) {
	t.Parallel()
	name := ""
	want := partRequest{
		Options: Options{
			BuildOptions: tool.BuildOptions{
				Defines: []string{"N=1", "S=a, b"}, Includes: []string{"inc"}, Options: `-x "y z"`, Words: []string{"-x", "y z"},
				Expressions: []string{"f<int, 2>"}, ProgramName: &name, LocalSizes: [][3]int{{16, 2, 1}}, NoOptions: true,
			},
			Global:  cli.Global{JSON: true, Dir: "/d", Config: "/c", Set: []string{"max-size=1GiB", "eviction=lru"}},
			Runtime: "opencl", Device: "gpu", Archs: []string{"sm_90"}, Jobs: 3,
		},
		Files: []string{"a.cl"},
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got partRequest
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
