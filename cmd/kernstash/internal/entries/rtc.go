package entries

import (
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/key"
	"github.com/kernstash/kernstash/store"
)

// isRTC says whether what compiled needs no device.
func isRTC(d key.Device) bool {
	return rtc.IsAPI(d.API)
}

// rtcOutput returns what an artifact of theirs holds; nil for others.
func rtcOutput(d key.Device, a *store.Artifact) *rtc.Output {
	if !isRTC(d) {
		return nil
	}
	o, err := rtc.FromArtifact(a, "")
	if err != nil {
		return nil
	}
	return o
}

// rtcForms are all forms of code that an output may have.
var rtcForms = []rtc.Form{rtc.PTX, rtc.CUBIN, rtc.LTOIR, rtc.OptiXIR, rtc.NVVM, rtc.Code, rtc.Bitcode}

func reportOutput(o *rtc.Output) (forms []binaryReport, lowered map[string]string) {
	for _, f := range rtcForms {
		if code, ok := o.Get(f); ok {
			forms = append(forms, binaryReport{f.String(), len(code)})
		}
	}
	for _, l := range o.LoweredNames() {
		if lowered == nil {
			lowered = make(map[string]string)
		}
		lowered[l.Expression] = l.Name
	}
	return forms, lowered
}

// writeRTCRequest prints what a library was asked for besides the code.
func writeRTCRequest(line func(string, string, ...any), q rtc.Request) {
	if q.Name == "" {
		line("name", "none")
	} else {
		line("name", "%s", q.Name)
	}
	options := make([]string, len(q.Options))
	for i, o := range q.Options {
		options[i] = fmt.Sprintf("%q", o)
	}
	if len(options) == 0 {
		options = []string{"none"}
	}
	line("options", "%s", strings.Join(options, " "))
}

// writeRTCOutput prints what a library made.
func writeRTCOutput(line func(string, string, ...any), o *rtc.Output) {
	forms, _ := reportOutput(o)
	for _, f := range forms {
		line("output", "%s, %s", f.Form, human.Size(int64(f.Bytes)))
	}
	for _, l := range o.LoweredNames() {
		if l.Code == 0 {
			line("lowered", "%s is %s", l.Expression, l.Name)
		} else {
			line("lowered", "%s is nothing: code %d", l.Expression, l.Code)
		}
	}
}
