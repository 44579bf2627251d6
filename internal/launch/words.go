package launch

import "github.com/kernstash/kernstash/stats"

// words says for people why a program was compiled; reasons that have none here
// are words already.
var words = map[string]string{
	stats.MissAbsent.String():     "not in the cache",
	stats.MissTierOff.String():    "the disk tier is off ('kernstash doctor' says why)",
	stats.MissUnreadable.String(): "its entry cannot be read",
	stats.MissIrregular.String():  "its entry is no file of ours",
	stats.MissTruncated.String():  "its entry was cut short",
	stats.MissForeign.String():    "its entry was none",
	stats.MissVersion.String():    "its entry is of another version",
	stats.MissCollision.String():  "another program has its name",
	stats.MissDigest.String():     "its entry was damaged",
	stats.MissRefused.String():    "the driver refused its entry",
	stats.MissRefresh.String():    "mode refresh",
	stats.ObserveHits.String():    "mode observe",
}

func inWords(reason string) string {
	if w, ok := words[reason]; ok {
		return w
	}
	return reason
}
