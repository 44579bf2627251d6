// Package compare says what a request has that is near an entry, and in what they differ.
package compare

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/reason"
	"github.com/kernstash/kernstash/store"
)

const maxChanges = 4

// Component is one of the four components of a key, in which two recipes differ.
type Component struct {
	Reason  reason.Reason
	Changes []string // where images have little in common, or other units, there may be none
	near    bool
}

// Components says in what components a request differs from the recipe of an entry.
func Components(now, was *key.Recipe) (all []Component) {
	a, b := now.Key(), was.Key()
	if a.Device != b.Device {
		why, changes := compareDevices(now.Device, was.Device)
		all = append(all, Component{why, changes, now.Device.API == was.Device.API})
	}
	if a.Image != b.Image {
		why, changes, near := compareImages(now.Image, was.Image)
		all = append(all, Component{why, changes, near})
	}
	if a.Constants != b.Constants {
		all = append(all, Component{reason.NearestConstants, compareConstants(now.Constants, was.Constants), true})
	}
	if a.Options != b.Options {
		why, changes := compareOptions(now.Options, was.Options)
		all = append(all, Component{why, changes, true})
	}
	return all
}

// Recipes says in what a request differs from the recipe of an entry. near is
// false where more than one component differs, or images of little in common.
func Recipes(now, was *key.Recipe) (d store.Difference, near bool) {
	d.Key = was.Key()
	all := Components(now, was)
	if len(all) != 1 {
		return d, false
	}
	changes := all[0].Changes
	if len(changes) > maxChanges {
		changes = append(changes[:maxChanges], fmt.Sprintf("and %d more", len(changes)-maxChanges))
	}
	d.Reason, d.Text = all[0].Reason, strings.Join(changes, "; ")
	return d, all[0].near
}

func compareDevices(now, was key.Device) (reason.Reason, []string) {
	var changes []string
	text := func(name, now, was string) bool {
		if now != was {
			changes = append(changes, fmt.Sprintf("%s %q was %q", name, now, was))
		}
		return now != was
	}
	text("API", now.API, was.API)
	text("platform", now.Platform, was.Platform)
	text("device", now.Name, was.Name)
	text("device version", now.Version, was.Version)
	changes = append(changes, comparePairs("trait", now.Traits, was.Traits)...)
	what := reason.NearestDevice
	device := len(changes) > 0
	driver := text("driver", now.Driver, was.Driver)
	compiler := comparePairs("compiler", now.Compiler, was.Compiler)
	changes = append(changes, compiler...)
	switch {
	case device:
	case driver: // which brings a compiler of its own
		what = reason.NearestDriver
	case len(compiler) > 0:
		what = reason.NearestCompiler
	}
	return what, changes
}

func comparePairs(what string, now, was []key.Pair) []string {
	var changes []string
	left := slices.Clone(was)
	for _, p := range now {
		if i := slices.Index(left, p); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		old := slices.IndexFunc(left, func(q key.Pair) bool { return q.Name == p.Name && !slices.Contains(now, q) })
		if old < 0 {
			changes = append(changes, fmt.Sprintf("%s %s=%q is new", what, p.Name, p.Value))
			continue
		}
		changes = append(changes, fmt.Sprintf("%s %s=%q was %q", what, p.Name, p.Value, left[old].Value))
		left = slices.Delete(left, old, old+1)
	}
	for _, p := range left {
		changes = append(changes, fmt.Sprintf("%s %s=%q is gone", what, p.Name, p.Value))
	}
	return changes
}

func compareConstants(now, was key.Constants) []string {
	var changes []string
	for len(now) > 0 || len(was) > 0 {
		switch {
		case len(was) == 0 || len(now) > 0 && now[0].ID < was[0].ID:
			changes = append(changes, fmt.Sprintf("constant %d: %s is new", now[0].ID, number(now[0].Value)))
			now = now[1:]
		case len(now) == 0 || was[0].ID < now[0].ID:
			changes = append(changes, fmt.Sprintf("constant %d: %s is gone", was[0].ID, number(was[0].Value)))
			was = was[1:]
		default:
			if !bytes.Equal(now[0].Value, was[0].Value) {
				changes = append(changes, fmt.Sprintf("constant %d: %s was %s",
					now[0].ID, number(now[0].Value), number(was[0].Value)))
			}
			now, was = now[1:], was[1:]
		}
	}
	return changes
}

// number writes a little-endian number of any width, at least two digits.
func number(le []byte) string {
	be := slices.Clone(le)
	slices.Reverse(be)
	for len(be) > 1 && be[0] == 0 {
		be = be[1:]
	}
	return "0x" + hex.EncodeToString(be)
}

func compareOptions(now, was key.BuildOptions) (reason.Reason, []string) {
	changes := compareWords("option", now.Compile, was.Compile)
	changes = append(changes, compareWords("link option", now.Link, was.Link)...)
	if now.Absent != was.Absent {
		changes = append(changes, map[bool]string{
			true: "no options (NULL), where there was an empty string", false: "an empty string, where there was NULL",
		}[now.Absent])
	}
	if now.LinkAbsent != was.LinkAbsent {
		changes = append(changes, map[bool]string{
			true: "no link options (NULL), where there was an empty string", false: "empty link options, where there was NULL",
		}[now.LinkAbsent])
	}
	attributes := comparePairs("attribute", now.Attributes, was.Attributes)
	if len(attributes) == 0 && !slices.Equal(now.Attributes, was.Attributes) {
		attributes = []string{"attributes of one name in another order"}
	}
	if changes = append(changes, attributes...); len(changes) == 0 {
		return reason.NearestVariable, comparePairs("variable", now.Variables, was.Variables)
	}
	return reason.NearestOptions, append(changes, comparePairs("variable", now.Variables, was.Variables)...)
}

// compareWords compares lists whose order matters. What is the same at both
// ends is left out.
func compareWords(what string, now, was []string) []string {
	for len(now) > 0 && len(was) > 0 && now[0] == was[0] {
		now, was = now[1:], was[1:]
	}
	for len(now) > 0 && len(was) > 0 && now[len(now)-1] == was[len(was)-1] {
		now, was = now[:len(now)-1], was[:len(was)-1]
	}
	var changes []string
	for i := range max(len(now), len(was)) {
		switch {
		case i >= len(was):
			changes = append(changes, fmt.Sprintf("%s %q is new", what, now[i]))
		case i >= len(now):
			changes = append(changes, fmt.Sprintf("%s %q is gone", what, was[i]))
		case now[i] != was[i]:
			changes = append(changes, fmt.Sprintf("%s %q was %q", what, now[i], was[i]))
		}
	}
	return changes
}

// Devices says in what a device differs from another.
func Devices(now, was key.Device) string {
	_, changes := compareDevices(now, was)
	return strings.Join(changes, "; ")
}
