package settings

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errMalformed is what every parser returns; the caller says of what, and what
// is accepted.
var errMalformed = errors.New("malformed")

// kind is a type of setting: how its text is read and written.
type kind[T any] struct {
	accepts string // completes "want …"
	parse   func(string) (T, error)
	format  func(T) string
	empty   bool // an empty text is a value, not the absence of one
}

var (
	boolKind     = kind[bool]{"1, true, yes or on, or 0, false, no or off", parseBool, formatBool, false}
	sizeKind     = kind[int64]{"a size in bytes such as 1000000, 512MiB or 5GiB", ParseSize, FormatSize, false}
	countKind    = kind[int]{"a whole number, 0 or more", parseCount, strconv.Itoa, false}
	daysKind     = kind[time.Duration]{"a number of days such as 30, or a time such as 12h", ParseDays, formatDays, false}
	timeKind     = kind[time.Duration]{"0 or a time with its unit such as 250ms or 5s", parseTime, formatTime, false}
	modeKind     = kind[string]{"on, read-only, refresh, observe or off", parseMode, asIs, false}
	evictionKind = kind[string]{"cost or lru", oneOf(EvictCost, EvictLRU), asIs, false}
	workerKind   = kind[string]{"off, inline or auto", oneOf(WorkerOff, WorkerInline, WorkerAuto), asIs, false}
	traceKind    = kind[TraceMask]{"0, all, or a list of disk, memory, keys", parseTrace, TraceMask.String, false}
	pathKind     = kind[string]{"a path", parsePath, asIs, false}
	pathsKind    = kind[[]string]{"paths separated by " + string(filepath.ListSeparator), parsePaths, formatPaths, false}
	textKind     = kind[string]{"text", parseText, asIs, true}
	overrideKind = kind[*string]{"text", parseOverride, formatOverride, true}
)

func asIs(s string) string { return s }

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "0", "false", "no", "off":
		return false, nil
	case "1", "true", "yes", "on":
		return true, nil
	}
	return false, errMalformed
}

// SwitchedOff reports whether a value of KERNSTASH_DISABLE switches the cache off: it says
// so, or it makes no sense and may have been meant to.
func SwitchedOff(value string) bool {
	off, err := parseBool(value)
	return value != "" && (err != nil || off)
}

func formatBool(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errMalformed
	}
	return int(n), nil
}

const day = 24 * time.Hour

// ParseDays reads a time that a plain number gives in days: 30, 30d, 12h.
func ParseDays(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 63)
	if err != nil {
		return parseTime(text)
	}
	if n > uint64(math.MaxInt64/day) {
		return 0, errMalformed
	}
	return time.Duration(n) * day, nil
}

func formatDays(d time.Duration) string {
	if d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10)
	}
	return d.String()
}

func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errMalformed
	}
	return d, nil
}

func formatTime(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return d.String()
}

// oneOf reads one of some words, in small letters or others.
func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if text = strings.ToLower(text); !slices.Contains(words, text) {
			return "", errMalformed
		}
		return text, nil
	}
}

func parseMode(text string) (string, error) {
	switch on, err := parseBool(text); { // the other modes are words
	case err != nil:
		return oneOf(ModeReadOnly, ModeRefresh, ModeObserve)(text)
	case on:
		return ModeOn, nil
	}
	return ModeOff, nil
}

func parseText(text string) (string, error) {
	if strings.ContainsRune(text, 0) {
		return "", errMalformed
	}
	return text, nil
}

func parseOverride(text string) (*string, error) {
	text, err := parseText(text)
	return &text, err
}

func formatOverride(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// parsePath makes a path absolute: the working directory of a process may
// change, its cache may not.
func parsePath(text string) (string, error) {
	if _, err := parseText(text); err != nil {
		return "", err
	}
	return filepath.Abs(text)
}

func parsePaths(text string) ([]string, error) {
	var paths []string
	for _, p := range filepath.SplitList(text) {
		if p == "" {
			continue
		}
		abs, err := parsePath(p)
		if err != nil {
			return nil, err
		}
		paths = append(paths, abs)
	}
	return paths, nil
}

func formatPaths(paths []string) string {
	return strings.Join(paths, string(filepath.ListSeparator))
}
