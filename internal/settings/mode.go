package settings

// The modes: what the disk tier, and its layers, are used for.
const (
	ModeOn       = "on"        // read and written
	ModeReadOnly = "read-only" // read, never written
	ModeRefresh  = "refresh"   // never read: everything is built, and replaces what is there
	ModeObserve  = "observe"   // nothing is served: everything is built, and compared with what is there
	ModeOff      = "off"       // the same as the setting disable
)

func parseMode(text string) (string, error) {
	switch on, err := parseBool(text); { // the other modes are words
	case err != nil:
		return oneOf(ModeReadOnly, ModeRefresh, ModeObserve)(text)
	case on:
		return ModeOn, nil
	}
	return ModeOff, nil
}
