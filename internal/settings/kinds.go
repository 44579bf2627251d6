package settings

import (
	"cmp"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errMalformed is what every parser returns; the caller says of what, and what is accepted.
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
	remotesKind  = kind[[]string]{"none, or addresses separated by commas, of " + strings.Join(RemoteSchemes, "://, ") + "://", parseRemotes, formatRemotes, false}
	tenantKind   = kind[string]{"up to 64 of a-z, 0-9, '.', '-' and '_'", ParseTenant, asIs, false}
	agentKind    = kind[string]{"auto, off, or a path", parseAgent, asIs, false}
	uidsKind     = kind[[]uint32]{"numbers of users separated by commas", parseUIDs, formatUIDs, false}
	namesKind    = kind[[]string]{"names separated by commas", parseNames, formatNames, false}
	textKind     = kind[string]{"text", parseText, asIs, true}

	frameworksKind = kind[string]{
		"default, all, none, or a list of default, " + strings.Join(Frameworks, ", "), parseFrameworks, asIs, false,
	}
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

// parseFrameworks reads a word for all frameworks, or a list of names.
func parseFrameworks(text string) (string, error) {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	if text == FrameworksAll || text == FrameworksNone {
		return text, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		if name != FrameworksDefault && !slices.Contains(Frameworks, name) {
			return "", errMalformed
		}
	}
	return text, nil
}

// parseAgent reads a word, or the path of a socket.
func parseAgent(text string) (string, error) {
	switch on, err := parseBool(text); {
	case strings.EqualFold(text, AgentAuto), err == nil && on:
		return AgentAuto, nil
	case err == nil:
		return AgentOff, nil
	}
	return parsePath(text)
}

func parseUIDs(text string) (all []uint32, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 32)
		if err != nil {
			return nil, errMalformed
		}
		all = append(all, uint32(n))
	}
	return all, nil
}

func formatUIDs(all []uint32) string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = strconv.FormatUint(uint64(n), 10)
	}
	return strings.Join(texts, ",")
}

func parseNames(text string) (all []string, err error) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" || strings.ContainsRune(name, 0) {
			return nil, errMalformed
		}
		all = append(all, name)
	}
	return all, nil
}

func formatNames(all []string) string { return strings.Join(all, ",") }

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

// sizeUnit returns what a unit, in small letters, stands for; 0 for none.
func sizeUnit(name string) int64 {
	if name == "" || name == "b" {
		return 1
	}
	kibi, kilo := int64(1), int64(1)
	for _, letter := range []string{"k", "m", "g", "t", "p"} {
		kibi, kilo = kibi*1024, kilo*1000
		switch name {
		case letter, letter + "ib":
			return kibi
		case letter + "b":
			return kilo
		}
	}
	return 0
}

// ParseSize reads a number of bytes such as 1000000, 512MiB, 1.5g or 5GB. A letter alone
// counts in powers of 1024, as its KiB form does; KB and its like are powers of 1000.
func ParseSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	name := strings.TrimLeft(text, ".0123456789")
	number, unit := strings.TrimSuffix(text, name), sizeUnit(strings.ToLower(strings.TrimSpace(name)))
	size, err := strconv.ParseFloat(number, 64)
	size *= float64(unit)
	if err != nil || unit == 0 || number[0] == '.' || size >= math.MaxInt64 {
		return 0, errMalformed
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		return whole * unit, nil // which a floating point number may not hold
	}
	if unit == 1 || size > 0 && size < 1 {
		return 0, errMalformed // the unit was forgotten; 0 means something else: no limit
	}
	return int64(size), nil
}

// FormatSize returns the shortest text that ParseSize reads as n again, in the
// largest power of 1024 that divides it.
func FormatSize(n int64) string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for ; n != 0 && n%1024 == 0 && len(units) > 1; n /= 1024 {
		units = units[1:]
	}
	return strconv.FormatInt(n, 10) + units[0]
}

// TraceMask says what is traced.
type TraceMask uint8

// The bits of a TraceMask.
const (
	TraceDisk   TraceMask = 1 << iota // what the disk tier does
	TraceMemory                       // what the memory tier does
	TraceKeys                         // what each key is made of

	TraceAll = TraceDisk | TraceMemory | TraceKeys
)

// traceNames are the names of the bits, in their order.
var traceNames = []string{"disk", "memory", "keys"}

// Has reports whether all bits of of are set.
func (m TraceMask) Has(of TraceMask) bool { return m&of == of }

// String returns the mask as a setting: 0, all, or names with commas.
func (m TraceMask) String() string {
	if m == TraceAll {
		return "all"
	}
	var names []string
	for i, name := range traceNames {
		if m.Has(1 << i) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ","), "0")
}

func parseTrace(text string) (TraceMask, error) {
	if n, err := strconv.ParseUint(text, 10, 8); err == nil && n <= uint64(TraceAll) {
		return TraceMask(n), nil
	}
	var m TraceMask
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		word = strings.TrimSpace(word)
		switch i := slices.Index(traceNames, word); {
		case i >= 0:
			m |= 1 << i
		case word == "all":
			m = TraceAll
		default:
			return 0, errMalformed
		}
	}
	return m, nil
}
