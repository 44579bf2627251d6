package human

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Label is what people know a program by: the names of its kernels, or where none is known the size of its device image.
func Label(kernels []string, size int64) string {
	if len(kernels) == 0 {
		return Plural(size, "byte")
	}
	return strings.Join(kernels, ", ")
}

// CutLabel returns a label in at most n bytes: the names that fit, and how many more there are.
func CutLabel(label string, n int) string {
	names, more, _ := ReadLabel(label)
	if len(label) <= n || len(names) == 0 {
		return cut(label, n)
	}
	kept := len(names)
	for {
		text := strings.Join(names[:kept], ", ")
		if left := len(names) - kept + more; left > 0 {
			text += fmt.Sprintf(moreFormat, left)
		}
		switch {
		case len(text) <= n:
			return text
		case kept == 1: // its only name is too long
			end := strings.TrimPrefix(text, names[0])
			return cut(cut(names[0], max(n-len(end), 0))+end, n)
		}
		kept--
	}
}

// moreFormat ends a label that was cut.
const moreFormat = ", … %d more"

// ReadLabel returns the names that a label has, and how many more the program has; or else the size of the device image.
func ReadLabel(label string) (kernels []string, more int, size int64) {
	if digits, unit, is := strings.Cut(label, " "); is && (unit == "byte" || unit == "bytes") {
		if size, err := strconv.ParseInt(digits, 10, 64); err == nil {
			return nil, 0, size
		}
	}
	if i := strings.LastIndex(label, ", … "); i >= 0 {
		if digits, is := strings.CutSuffix(label[i+len(", … "):], " more"); is {
			if n, err := strconv.Atoi(digits); err == nil && n > 0 {
				label, more = label[:i], n
			}
		}
	}
	if label == "" {
		return nil, 0, 0
	}
	return strings.Split(label, ", "), more, 0
}

// cut returns at most n bytes of s, whole characters of it.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	if n < len(dots) {
		return ""
	}
	n -= len(dots)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}
