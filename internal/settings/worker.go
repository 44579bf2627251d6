package settings

import "strings"

// Who builds what an application launched and could not capture itself.
const (
	WorkerOff    = "off"    // whoever calls `kernstash worker run`: it is only noted
	WorkerInline = "inline" // the process that notes it, where it is a Go program
	WorkerAuto   = "auto"   // a process of our own, which is started if need be
)

func parseWorker(text string) (string, error) {
	switch text = strings.ToLower(text); text {
	case WorkerOff, WorkerInline, WorkerAuto:
		return text, nil
	}
	return "", errMalformed
}
