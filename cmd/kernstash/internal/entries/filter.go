package entries

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/ledger"
	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/records"
	"github.com/kernstash/kernstash/internal/settings"
	"github.com/kernstash/kernstash/store"
)

// Filter says which entries a command is about: those that all its fields ask for. App and API are names, the other texts
// are parts of names, in upper or lower case. Where a text has * and ?, it is all of the name.
type Filter struct {
	App, API, Device, Driver, Kernel string

	Older  time.Duration // not used for longer
	Larger int64         // bytes
}

// Bind adds the flags. A text that is empty is a mistake: else it asked for all.
func (f *Filter) Bind(flags *pflag.FlagSet) {
	for _, of := range []struct {
		name, usage string
		text        *string
	}{
		{"app", "only entries that the application of this `NAME` used", &f.App},
		{"api", "only entries of this `API`, such as 'show --json' names", &f.API},
		{"device", "only entries of devices with this in their `NAME`", &f.Device},
		{"driver", "only entries of this driver `VERSION`, such as 580.*", &f.Driver},
		{"kernel", "only entries with a kernel of this `NAME`", &f.Kernel},
	} {
		flags.Func(of.name, of.usage, func(text string) error {
			if *of.text = text; text == "" {
				return errors.New("it is empty")
			}
			return nil
		})
	}
	flags.Func("older", "only entries not used for more `DAYS`, or a time such as 12h", func(text string) (err error) {
		if f.Older, err = settings.ParseDays(text); err != nil || f.Older <= 0 {
			return errors.New("want days such as 30, or a time such as 12h")
		}
		return nil
	})
	flags.Func("larger", "only entries of more than this `SIZE`", func(text string) (err error) {
		if f.Larger, err = settings.ParseSize(text); err != nil || f.Larger <= 0 {
			return errors.New("want a size such as 1MiB")
		}
		return nil
	})
}

// All reports whether it asks for all entries.
func (f Filter) All() bool { return f == Filter{} }

// matcher finds out whether entries are those of a filter.
type matcher struct {
	Filter
	book                             *ledger.Ledger // of a filter by application
	now                              time.Time
	app, api, device, driver, kernel func(...string) bool // nil: any
}

func (f Filter) matcher(book *ledger.Ledger, now time.Time) *matcher {
	return &matcher{
		Filter: f, book: book, now: now,
		app: matches(f.App, true), api: matches(f.API, true),
		device: matches(f.Device, false), driver: matches(f.Driver, false), kernel: matches(f.Kernel, false),
	}
}

// hasWildcards reports whether a text asks for several names.
func hasWildcards(text string) bool { return strings.ContainsAny(text, "*?") }

// matches returns what reports whether one of several names is what a text asks for; nil: any is.
func matches(text string, whole bool) func(...string) bool {
	if text == "" {
		return nil
	}
	expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text))
	if whole || hasWildcards(text) {
		expression = "^" + expression + "$"
	}
	if !whole {
		expression = "(?i)" + expression
	}
	is := regexp.MustCompile("(?s)" + expression).MatchString
	return func(names ...string) bool { return slices.ContainsFunc(names, is) }
}

// usedBy reports whether one of its applications used an entry, of which e, which may be nil, is what the records know.
func (m *matcher) usedBy(e *ledger.Entry) bool {
	if m.app == nil || e == nil {
		return m.app == nil
	}
	for app := range e.Apps {
		if m.app(app) {
			return true
		}
	}
	return false
}

// use returns what the applications that are asked for, or else all, did with an entry.
func (m *matcher) use(e *ledger.Entry) (hits int64, saved time.Duration) {
	if e == nil {
		return 0, 0
	}
	for app, u := range e.Apps {
		if m.app == nil || m.app(app) {
			hits, saved = hits+u.Hits, saved+u.SavedTime()
		}
	}
	return hits, saved
}

// match reports whether an entry is one of those that are asked for.
func (m *matcher) match(info store.Info) bool {
	d := info.Device
	of := func(is func(...string) bool, names ...string) bool { return is == nil || is(names...) }
	device := d.Platform + "/" + d.Name
	if rtc.IsAPI(d.API) {
		device = DeviceText(d)
	}
	if !of(m.api, d.API) || !of(m.device, d.Name, device) || !of(m.driver, d.Driver) {
		return false
	}
	if m.kernel != nil && !m.kernel(info.Kernels...) && !slices.ContainsFunc(info.Kernels, func(name string) bool { return m.kernel(KernelName(name)) }) {
		return false
	}
	if m.Older > 0 && m.now.Sub(info.Accessed) <= m.Older || info.Size <= m.Larger && m.Larger > 0 {
		return false
	}
	return m.app == nil || !info.Key.IsZero() && m.usedBy(known(m.book, info))
}

// known returns what the records know of an entry; nil: nothing.
func known(book *ledger.Ledger, info store.Info) *ledger.Entry {
	if book == nil || info.Key.IsZero() {
		return nil
	}
	e, _ := book.Of(records.PlaceOf(info.Key)) // damage is told by what lists
	return e
}
