package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/kernstash/kernstash/internal/human"
)

// EncodeJSON writes a value and a line feed. JSON may hold characters that a
// terminal obeys, and people look at JSON on terminals, so those are written
// as escapes, which mean the same. Bytes that are no UTF-8 become U+FFFD.
func EncodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeControls(b.Bytes()))
	return err
}

// escapeControls escapes what human.Printable would replace. Outside of strings JSON
// has none of it but line feeds.
func escapeControls(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if human.IsControl(r) && r != '\n' && r != utf8.RuneError {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}
