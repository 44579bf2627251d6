package deps

import (
	"testing"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
)

func TestScanUnit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		unit  key.Unit
		want  reason.Reason
		reads bool
	}{
		{"SPIR-V is not looked at", key.Unit{Kind: key.SPIRV, Code: []byte("#include <a.h>")}, 0, false},
		{"a file", key.Unit{Kind: key.OpenCLC, Code: []byte("#include <a.h>")}, 0, true},
		{"a file that is looked for", key.Unit{Kind: key.OpenCLC, Code: []byte("#if __has_include(<a.h>)\n#endif")}, 0, true},
		{"given in memory", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("#include \"b.h\"")}, {Name: "b.h", Content: []byte("int b;")}},
		}, 0, false},
		{"a given header reads a file", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("#include \"c.h\"")}},
		}, reason.NotCacheableHeaders, true},
		{"a given header tells the time", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("__TIME__")}},
		}, reason.NotCacheableTime, false},
		{"pasted with a header's help", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>\nC(_, _TIME__)"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("#define C(a,b) a##b")}},
		}, reason.NotCacheableHeaders, false},
		{"assembled with a header's help", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include <a.h>\nA(\".incbin \\\"x\\\"\");"),
			Headers: []key.Header{{Name: "a.h", Content: []byte("#define A asm")}},
		}, reason.NotCacheableFile, false},
		{"a file of that name is here", key.Unit{
			Kind: key.OpenCLC, Code: []byte("#include \"unit.go\""),
			Headers: []key.Header{{Name: "unit.go", Content: []byte("int b;")}},
		}, reason.NotCacheableHeaders, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ScanUnit(tt.unit); got.Reason.Code != tt.want || (got.Reads != "") != tt.reads {
				t.Errorf("ScanUnit = %v; want %v, %v", got, tt.reads, tt.want)
			}
		})
	}
}
