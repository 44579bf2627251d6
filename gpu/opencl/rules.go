package opencl

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kernstash/kernstash/internal/drivers"
)

// rules say which environment variables the platform's compiler obeys. Of a driver that is
// not known here nobody has looked: besides what the table says of such drivers, variables
// count that begin with a name of its own ("ARM Platform": ARM; suffix QCOM: QCOM).
func (p *Platform) rules() *drivers.Rules {
	v := p.vendor()
	if v != unknown {
		return variables[v]
	}
	first := func(s string) string {
		notLetter := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }
		if i := strings.IndexFunc(s, notLetter); i >= 0 {
			s = s[:i]
		}
		return strings.ToUpper(s)
	}
	own := *variables[unknown]
	own.Prefixes = slices.Clone(own.Prefixes)
	for _, name := range []string{first(p.Name), first(p.Vendor), first(p.Suffix)} {
		if len(name) > 1 {
			own.Prefixes = append(own.Prefixes, name)
		}
	}
	return &own
}
