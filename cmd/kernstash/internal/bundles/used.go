package bundles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/bundle"
	"github.com/kernstash/kernstash/internal/human"
)

// Used is what a command did with the bundle of --bundle.
type Used struct {
	Dir     string         `json:"dir"`
	Entries int            `json:"entries"`
	Hits    int            `json:"hits"`              // programs that were found in it
	Caches  []bundle.Usage `json:"caches,omitempty"`  // of other tools
	Unset   []string       `json:"ignored,omitempty"` // of those, the ones about which the user has said something
}

// Text says it for people.
func (of *Used) Text() string {
	if of == nil {
		return ""
	}
	var texts []string
	switch {
	case of.Hits > 0:
		texts = append(texts, fmt.Sprintf("%s found", human.Plural(of.Hits, "program")))
	case of.Entries > 0:
		texts = append(texts, fmt.Sprintf("inert, no program was found among %s", human.Plural(of.Entries, "entry")))
	}
	for _, u := range of.Caches {
		if slices.Contains(of.Unset, u.Name) {
			texts = append(texts, u.Name+": left alone, as you have set its variables")
			continue
		}
		texts = append(texts, UsageText(u))
	}
	if len(texts) == 0 {
		return ""
	}
	return human.Printable("  of the bundle: "+strings.Join(texts, "; ")+"\n", true)
}
