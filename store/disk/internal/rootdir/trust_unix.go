//go:build !windows

package rootdir

import (
	"fmt"
	"os"

	"github.com/kernstash/kernstash/internal/safefs"
)

// checkRoot decides whether a root can be trusted: whoever can write to it
// chooses what code runs.
func (p *Place) checkRoot(_ safefs.Dir, info safefs.Info) error {
	switch {
	case safefs.IsAnybody(info.UID):
		return fmt.Errorf("belongs to user %d, which stands here for every user that this user namespace does not know: "+
			"map your user, or set another directory", info.UID)
	case p.ReadOnly && !p.Trusted(info):
		cure := "chmod go-w " + p.Dir
		if info.UID != uint32(os.Geteuid()) && info.UID != 0 {
			cure = "chown -R root " + p.Dir
		}
		return fmt.Errorf("owner %d, mode %04o: a layer must belong to user %d or root "+
			"and be writable by nobody else; run: %s", info.UID, info.Perm, os.Geteuid(), cure)
	case p.ReadOnly:
		return nil
	case info.UID != uint32(os.Geteuid()):
		return fmt.Errorf("belongs to user %d, not to user %d: set a directory of your own, or run: sudo chown -R %[2]d %[3]s",
			info.UID, os.Geteuid(), p.Dir)
	case info.Perm != 0o700:
		return fmt.Errorf("mode %04o lets others in, or the owner not; run: chmod 700 %s", info.Perm, p.Dir)
	}
	return nil
}
