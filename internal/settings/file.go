package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const maxFile = 1 << 20

// readFile returns the texts in a settings file, by name, and closes it.
func readFile(f *os.File, env environment) (map[string]string, error) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	texts, err := parseFile(b, env)
	if errors.Is(err, io.EOF) {
		err = errors.New("ends too early")
	}
	return texts, err
}

// parseFile reads a JSON object of names and values. A value may be a string, a number,
// true or false, or an array of strings where several paths are wanted; null leaves the
// setting alone. A name that occurs twice is an error: nobody means that.
func parseFile(b []byte, env environment) (map[string]string, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errors.New("want a JSON object")
	}
	texts := make(map[string]string)
	seen := make(map[string]bool)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // the decoder takes nothing else for a name
		if seen[name] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if texts[name], err = textOf(value, env); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return texts, nil
}

func textOf(value any, env environment) (string, error) {
	switch v := value.(type) {
	case string:
		return env.expand(v), nil
	case json.Number:
		return v.String(), nil
	case bool:
		return formatBool(v), nil
	case []any:
		paths := make([]string, len(v))
		for i, p := range v {
			s, ok := p.(string)
			if !ok || strings.ContainsRune(s, filepath.ListSeparator) {
				return "", fmt.Errorf("element %d is not a string without %q", i, filepath.ListSeparator)
			}
			paths[i] = env.expand(s)
		}
		return formatPaths(paths), nil
	}
	return "", errors.New("an object is no value")
}
