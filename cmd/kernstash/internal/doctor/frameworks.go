package doctor

import (
	"os"

	"github.com/kernstash/kernstash/cmd/kernstash/internal/launch"
	"github.com/kernstash/kernstash/gpu/tool"
	"github.com/kernstash/kernstash/internal/settings"
)

// checkFrameworks says which frameworks' own caches 'kernstash run' switches on in this environment.
func (r *Report) checkFrameworks(s *settings.Settings) {
	if !launch.Supported {
		return
	}
	for _, d := range launch.Frameworks(s, os.Environ()) {
		subject := "the cache of " + d.Name
		if d.On {
			r.Add(subject, tool.OK, "'--no-frameworks' leaves it alone", "'kernstash run' switches it on, in %s", d.Dir)
		} else {
			r.Add(subject, tool.Info, "", "'kernstash run' leaves it alone: %s", d.Reason)
		}
	}
}
