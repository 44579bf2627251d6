package machine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/cli"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/human"
)

// choose returns the index of the title that a choice means: its number,
// or the one title that contains it, upper and lower case being the same.
func choose(titles []string, choice string) (int, error) {
	if choice == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(choice); err == nil {
		if n >= 0 && n < len(titles) {
			return n, nil
		}
		return 0, cli.Usagef("--device %s: there is no such number; %s", choice, listed(titles))
	}
	var found []int
	for i, t := range titles {
		if strings.Contains(strings.ToLower(t), strings.ToLower(choice)) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		return 0, cli.Usagef("--device %s: none is called so; %s", choice, listed(titles))
	case 1:
		return found[0], nil
	}
	return 0, cli.Usagef("--device %s: more than one is called so; %s", choice, listed(titles))
}

// Pick returns the device of all that a choice means.
func Pick(all []tool.Device, choice string) (d tool.Device, err error) {
	titles := make([]string, len(all))
	for i, d := range all {
		titles[i] = d.Title
	}
	i, err := choose(titles, choice)
	if err != nil {
		return d, err
	}
	return all[i], nil
}

func listed(titles []string) string {
	var b strings.Builder
	b.WriteString("here are:")
	for i, t := range titles {
		fmt.Fprintf(&b, "\n  %d  %s", i, human.Printable(t, false))
	}
	return b.String()
}
