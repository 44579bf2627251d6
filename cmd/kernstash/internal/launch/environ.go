package launch

import (
	"slices"
	"strings"
)

// Variable is one of the environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// environ is a list of NAME=value; of equal names the first counts.
type environ []string

func (e environ) get(name string) string {
	for _, kv := range e {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// with returns a copy in which the variables have these values.
func (e environ) with(variables []Variable) environ {
	out := slices.DeleteFunc(slices.Clone(e), func(kv string) bool {
		return slices.ContainsFunc(variables, func(v Variable) bool { return strings.HasPrefix(kv, v.Name+"=") })
	})
	for _, v := range variables {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// first returns a list of elements with one in front, where it is not in it yet.
func first(list, element, separators string) string {
	switch {
	case slices.Contains(Elements(list, separators), element):
		return list
	case list == "":
		return element
	}
	return element + separators[:1] + list
}

// last is first at the other end.
func last(list, element, separators string) string {
	if list == "" || slices.Contains(Elements(list, separators), element) {
		return first(list, element, separators)
	}
	return list + separators[:1] + element
}

// Elements returns the elements of a list.
func Elements(list, separators string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(separators, r) })
}
