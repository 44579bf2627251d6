package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// UserFile returns where the user's settings file is, or would be; "" where neither
// $XDG_CONFIG_HOME nor a home is known.
func UserFile() string {
	dir := environment(os.Environ()).place(runtime.GOOS, "XDG_CONFIG_HOME", ".config")
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "config.json")
}

// member is a name with its value in the text of an object.
type member struct {
	name             string
	begins           int // of the name
	valueBegins, end int
}

// members returns what the object of a settings file holds, and where it begins, behind the
// brace. The text has been parsed.
func members(b []byte) (all []member, open int, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return nil, 0, err
	}
	open = int(dec.InputOffset())
	for at := open; dec.More(); {
		name, err := dec.Token()
		if err != nil {
			return nil, 0, err
		}
		text, _ := name.(string) // the decoder takes nothing else for a name
		m := member{name: text, begins: at + bytes.IndexByte(b[at:], '"')}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, 0, err
		}
		m.end = int(dec.InputOffset())
		m.valueBegins = m.end - len(value)
		all, at = append(all, m), m.end
	}
	return all, open, nil
}

const byteOrderMark = "\xef\xbb\xbf"

// Edit returns the text of a settings file with a setting that has a value, or, where that is nil, none. All
// else stays as it is: order, blanks, and names that do not exist. was reports whether the
// setting was there. An empty text is a file without settings.
func Edit(text []byte, name string, value *string) (edited []byte, was bool, err error) {
	if len(text) > maxFile {
		return nil, false, fmt.Errorf("larger than %d bytes", maxFile)
	}
	b, marked := bytes.CutPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(b)) == 0 {
		b = []byte("{\n}\n")
	}
	if _, err := parseFile(b, nil); err != nil {
		return nil, false, errOf(err)
	}
	all, open, err := members(b)
	if err != nil {
		return nil, false, err
	}
	at := -1
	for i, m := range all {
		if m.name == name {
			at = i
		}
	}
	var edits edit
	switch {
	case value != nil && at >= 0:
		edits = edit{all[at].valueBegins, all[at].end, quoted(*value)}
	case value != nil && len(all) == 0:
		edits = edit{open, open, "\n  " + quoted(name) + ": " + quoted(*value)}
	case value != nil:
		last := all[len(all)-1]
		edits = edit{last.end, last.end, "," + between(b, open, all[0].begins) + quoted(name) + ": " + quoted(*value)}
	case at < 0:
	case at+1 < len(all):
		edits = edit{all[at].begins, all[at+1].begins, ""}
	case at > 0:
		edits = edit{all[at-1].end, all[at].end, ""}
	default:
		edits = edit{open, all[at].end, ""}
	}
	edited = edits.of(b)
	if marked {
		edited = append([]byte(byteOrderMark), edited...)
	}
	if len(edited) > maxFile {
		return nil, false, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return edited, at >= 0, nil
}

// edit replaces a part of a text.
type edit struct {
	from, to int
	by       string
}

func (e edit) of(b []byte) []byte {
	return bytes.Join([][]byte{b[:e.from], []byte(e.by), b[e.to:]}, nil)
}

// between returns the blanks that stand before a member, as before the first one; a blank where
// all is on one line.
func between(b []byte, open, first int) string {
	if blanks := b[open:first]; bytes.ContainsRune(blanks, '\n') {
		return string(blanks)
	}
	return " "
}

func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // of a string there is no error
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// errOf says what is wrong with the text of a file.
func errOf(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	}
	return err
}
