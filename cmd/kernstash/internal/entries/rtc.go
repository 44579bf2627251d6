package entries

import (
	"fmt"
	"strings"

	"github.com/kernstash/kernstash/gpu/rtc"
	"github.com/kernstash/kernstash/internal/human"
	"github.com/kernstash/kernstash/store"
)

// rtcForms are all forms of code that an output may have.
var rtcForms = []rtc.Form{rtc.PTX, rtc.CUBIN, rtc.LTOIR, rtc.OptiXIR, rtc.NVVM, rtc.Code, rtc.Bitcode}

// addOutput adds what an artifact of a compiler that needs no device holds.
func (r *artifactReport) addOutput(a *store.Artifact) {
	o, err := rtc.FromArtifact(a, "")
	if err != nil {
		return
	}
	r.output, r.Lowered = o, make(map[string]string)
	for _, f := range rtcForms {
		if code, ok := o.Get(f); ok {
			r.Outputs = append(r.Outputs, binaryReport{f.String(), len(code)})
		}
	}
	for _, l := range o.LoweredNames() {
		r.Lowered[l.Expression] = l.Name
	}
}

// write prints what a library was asked for besides the code.
func (p *programReport) write(line func(string, string, ...any)) {
	if p.Name == "" {
		line("name", "none")
	} else {
		line("name", "%s", p.Name)
	}
	options := "none"
	if len(p.Options) > 0 {
		options = strings.Trim(fmt.Sprintf("%q", p.Options), "[]")
	}
	line("options", "%s", options)
}

// writeOutput prints what a library made.
func (r *artifactReport) writeOutput(line func(string, string, ...any)) {
	for _, f := range r.Outputs {
		line("output", "%s, %s", f.Form, human.Size(int64(f.Bytes)))
	}
	for _, l := range r.output.LoweredNames() {
		if l.Code == 0 {
			line("lowered", "%s is %s", l.Expression, l.Name)
		} else {
			line("lowered", "%s is nothing: code %d", l.Expression, l.Code)
		}
	}
}
