package marked

import "testing"

func TestReplace(t *testing.T) {
	t.Parallel()
	const text = "a\n<!-- begin x -->\nold\nolder\n<!-- end x -->\nb\n<!-- begin y -->\n<!-- end y -->\n"
	got, err := Replace(text, "x", "new\n\n")
	if want := "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n<!-- begin y -->\n<!-- end y -->\n"; err != nil || got != want {
		t.Errorf("%v, %q, want %q", err, got, want)
	}
	if _, err := Replace(text, "z", ""); err == nil {
		t.Error("a part that is not there was replaced")
	}
	if _, err := Replace("<!-- begin x -->\n", "x", ""); err == nil {
		t.Error("a part without an end was replaced")
	}
}
