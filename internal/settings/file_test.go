package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// FuzzParseFile checks that a file that is accepted is a JSON object, that
// reading it is repeatable, and that no text in it breaks a setting's parser.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte(`{"dir": "~/x", "max-size": 5, "persistent": true, "layers": ["/a"], "trace": null}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Add([]byte(`{"trace": "disk,keys", "threshold": "1e9", "max-size": 1e400}`))
	f.Add([]byte(`{"a": {"b": [[[`))
	f.Fuzz(func(t *testing.T, b []byte) {
		env := environment{"HOME=/home/u"}
		texts, err := parseFile(b, env)
		if err != nil {
			return
		}
		if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
			b = b[3:]
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(b, &object); err != nil {
			t.Fatalf("accepted what is no object: %v", err)
		}
		for name, text := range texts {
			if _, ok := object[name]; !ok {
				t.Errorf("%q is not in the file", name)
			}
			row := new(Values).table().byName(name)
			if row == nil || row.set(text) != nil {
				continue
			}
			shown := row.get()
			if err := new(Values).table().byName(name).set(shown); err != nil && shown != "" {
				t.Errorf("%s=%q is shown as %q, which is refused: %v", name, text, shown, err)
			}
		}
	})
}

func TestFileTooLarge(t *testing.T) {
	t.Parallel()
	_, err := Load(Inputs{Environ: []string{}, ConfigFile: writeFile(t, string(make([]byte, maxFile+1)))})
	var fileErr *Error
	if !errors.As(err, &fileErr) || fileErr.Err == nil {
		t.Errorf("got %v", err)
	}
}
