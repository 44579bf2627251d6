package settings

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	some := func(s string) *string { return &s }
	for _, tt := range []struct {
		name, text, setting string
		value               *string
		want                string
		was                 bool
	}{
		{"no file", "", "dir", some("/x"), "{\n  \"dir\": \"/x\"\n}\n", false},
		{"nothing in it", "{}", "dir", some("/x"), "{\n  \"dir\": \"/x\"}", false},
		{"replaced", "{\"a\": 1,\n\t\"dir\" :  \"old\" ,\"b\":[\"x\", \"y\"]}\n", "dir", some("new"), "{\"a\": 1,\n\t\"dir\" :  \"new\" ,\"b\":[\"x\", \"y\"]}\n", true},
		{"a number replaced", `{"max-size": 1048576 }`, "max-size", some("1GiB"), `{"max-size": "1GiB" }`, true},
		{"a list replaced", `{"layers": ["/a", "/b"]}`, "layers", some("/c"), `{"layers": "/c"}`, true},
		{"added on its line", "{\n    \"a\": 1\n}\n", "dir", some("/x"), "{\n    \"a\": 1,\n    \"dir\": \"/x\"\n}\n", false},
		{"added on the same line", `{ "a": 1 }`, "dir", some("/x"), `{ "a": 1, "dir": "/x" }`, false},
		{"quotes", "{}", "append-compile-options", some(`-DX="<&\"`), "{\n  \"append-compile-options\": \"-DX=\\\"<&\\\\\\\"\"}", false},
		{"the first goes", "{\n  \"a\": 1,\n  \"b\": 2\n}", "a", nil, "{\n  \"b\": 2\n}", true},
		{"the last goes", "{\n  \"a\": 1,\n  \"b\": 2\n}", "b", nil, "{\n  \"a\": 1\n}", true},
		{"the only one goes", "{ \"a\": 1\n}", "a", nil, "{\n}", true},
		{"an escaped name goes", `{"a": 1, "\u0062": 2}`, "b", nil, `{"a": 1}`, true},
		{"not there", `{"a": 1}`, "b", nil, `{"a": 1}`, false},
		{"a mark of the order of bytes", "\xef\xbb\xbf{\"a\": 1}", "a", some("2"), "\xef\xbb\xbf{\"a\": \"2\"}", true},
	} {
		got, was, err := Edit([]byte(tt.text), tt.setting, tt.value)
		if err != nil || was != tt.was || string(got) != tt.want {
			t.Errorf("%s: %q, %v, %v, want %q", tt.name, got, was, err, tt.want)
		}
	}
	for _, text := range []string{"[]", `{"a": 1`, `{"a": 1} x`, `{"a": 1, "a": 2}`, `{"a": {}}`, "{// no\n}"} {
		if got, _, err := Edit([]byte(text), "a", some("x")); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// FuzzEdit: what is edited says what it said, but for the setting, and is what it was once that is taken back.
func FuzzEdit(f *testing.F) {
	f.Add(`{"a": 1, "b": ["x"], "dir": null}`, "dir", "/x")
	f.Add("{\n \"a\" : true }", "b", "\x00\"<\u2028\\")
	f.Add("\xef\xbb\xbf{}", "", "")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		before, err := parseFile([]byte(text), nil)
		if err != nil {
			return
		}
		edited, _, err := Edit([]byte(text), name, &value)
		if err != nil {
			t.Fatal(err)
		}
		quoted, err := parseFile([]byte("{"+quoted(name)+":"+quoted(value)+"}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(before)
		for valid, v := range quoted { // of texts that are no UTF-8
			if valid != name {
				return
			}
			want[valid] = v
		}
		after, err := parseFile(edited, nil)
		if diff := cmp.Diff(want, after); diff != "" || err != nil {
			t.Fatalf("%v, %q became %q: %s", err, text, edited, diff)
		}
		less, was, err := Edit(edited, name, nil)
		if err != nil || !was {
			t.Fatal(was, err)
		}
		delete(want, name)
		after, err = parseFile(less, nil)
		if diff := cmp.Diff(want, after); diff != "" || err != nil {
			t.Fatalf("%v, %q became %q: %s", err, edited, less, diff)
		}
	})
}
