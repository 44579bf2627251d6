package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// jsonQuery prints a part of a JSON file: json FILE PATH, where PATH is names
// and indexes with dots between them, "#" for the number of elements; an empty
// path is the whole. A file of several values is an array of them.
func jsonQuery(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	var values []any
	for dec := json.NewDecoder(f); dec.More(); {
		var v any
		if err := dec.Decode(&v); err != nil {
			return err
		}
		values = append(values, v)
	}
	var at any = values
	if len(values) == 1 {
		at = values[0]
	}
	for step := range strings.SplitSeq(args[1], ".") {
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[step]
			if step == "#" {
				next, ok = len(v), true
			}
			if !ok {
				return fmt.Errorf("%s: no %q", args[1], step)
			}
			at = next
		case []any:
			if step == "#" {
				at = len(v)
				break
			}
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return fmt.Errorf("%s: no element %q of %d", args[1], step, len(v))
			}
			at = v[i]
		default:
			return fmt.Errorf("%s: %q of a plain value", args[1], step)
		}
	}
	if s, ok := at.(string); ok {
		fmt.Println(s)
		return nil
	}
	b, err := json.Marshal(at)
	fmt.Println(string(b))
	return err
}
