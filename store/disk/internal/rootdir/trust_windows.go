package rootdir

import (
	"errors"

	"github.com/kernstash/kernstash/internal/safefs"
)

func (p *Place) checkRoot(d safefs.Dir, _ safefs.Info) error {
	reason, err := d.Distrust(p.ReadOnly)
	if err == nil && reason != "" {
		err = errors.New(reason)
	}
	return err
}
