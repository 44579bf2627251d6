package rtc

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// What NVRTC says of precompiled header files (the texts are those in its library) is of one
// process: it is taken out of the log.
func TestPrecompiledMessages(t *testing.T) {
	t.Parallel()
	const pch = "/tmp/__nvrtc_auto_pch_507_0/kernel.pch"
	for _, c := range []struct {
		log, rest string
		want      store.Precompiled
		said      bool
	}{
		{"", "", store.Precompiled{}, false},
		{"\x00", "\x00", store.Precompiled{}, false},
		{"a.cu(1): warning\n\x00", "a.cu(1): warning\n\x00", store.Precompiled{}, false},
		{"\"a.cu\": creating precompiled header file \"" + pch + "\"\n\x00", "\x00", store.Precompiled{Made: []string{pch}}, true},
		{
			"\"a.cu\": using precompiled header file \"" + pch + "\"\na.cu(1): warning\n\x00", "a.cu(1): warning\n\x00",
			store.Precompiled{Used: []string{pch}},
			true,
		},
		{
			"header files used to generate precompiled header file \"/tmp/x.pch\" have changed\n\"a.cu\": creating precompiled header file \"" + pch + "\"",
			"",
			store.Precompiled{Made: []string{pch}},
			true,
		},
		{"precompiled header file \"/tmp/x.pch\" was not generated in this directory\n", "", store.Precompiled{}, false},
	} {
		got, rest, said := precompiled([]byte(c.log))
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" || string(rest) != c.rest || said != c.said {
			t.Errorf("%q: %q, %v, %s", c.log, rest, said, diff)
		}
	}
}

func FuzzPrecompiledMessages(f *testing.F) {
	f.Add([]byte("\"a.cu\": using precompiled header file \"/tmp/a.pch\"\nb\n\x00"))
	f.Fuzz(func(t *testing.T, log []byte) {
		p, rest, said := precompiled(log)
		if bytes.Contains(rest, []byte("precompiled header file")) || said != (len(p.Made)+len(p.Used) > 0) || len(rest) > len(log) {
			t.Errorf("%q: %+v, %q, %v", log, p, rest, said)
		}
	})
}

// Whatever PTX is, a file that it names counts.
func FuzzUnkeyedFile(f *testing.F) {
	image, err := key.NewImage(key.CUDACpp, []byte("int x;"))
	if err != nil {
		f.Fatal(err)
	}
	r := &key.Recipe{Image: image, Options: key.BuildOptions{Attributes: []key.Pair{{Name: attrFile, Value: "/a: absent"}}}}
	f.Add([]byte("\t.file\t1 \"/a/b.h\"\n"))
	f.Add([]byte(".file 0 \"\""))
	f.Add([]byte("\t.file\t1 \"/a\"\n .file 2 \"\\\n\""))
	f.Fuzz(func(t *testing.T, ptx []byte) {
		o := NewOutput(Answer{}, map[Form]Answer{PTX: {Asked: true, Data: ptx}}, nil)
		_, found := o.unkeyedFile(r)
		for line := range bytes.Lines(ptx) {
			rest, named := bytes.CutPrefix(bytes.TrimLeft(line, " \t"), []byte(".file"))
			if !named || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
				continue
			}
			if !found && !bytes.Contains(line, []byte(`"/a"`)) {
				t.Errorf("%q names nothing", ptx)
			}
		}
	})
}
