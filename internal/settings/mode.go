package settings

import "strings"

// The modes: what the disk tier, and its layers, are used for.
const (
	ModeOn       = "on"        // read and written
	ModeReadOnly = "read-only" // read, never written
	ModeRefresh  = "refresh"   // never read: everything is built, and replaces what is there
	ModeObserve  = "observe"   // nothing is served: everything is built, and compared with what is there
	ModeOff      = "off"       // the same as the setting disable
)

func parseMode(text string) (string, error) {
	switch text = strings.ToLower(text); text {
	case ModeReadOnly, ModeRefresh, ModeObserve:
		return text, nil
	}
	// The other modes are those of a switch.
	on, err := parseBool(text)
	switch {
	case err != nil:
		return "", err
	case on:
		return ModeOn, nil
	}
	return ModeOff, nil
}
