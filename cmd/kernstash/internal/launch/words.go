package launch

import "github.com/kernstash/kernstash/reason"

// inWords says for people why a program was compiled; text that is no reason of the disk
// tier is words already.
func inWords(text string) string {
	for r := reason.MissAbsent; r <= reason.ObserveHits; r++ {
		if r.String() == text {
			return r.Words()
		}
	}
	return text
}
