package rtc

import (
	"path"
	"slices"
	"strings"

	"github.com/kernstash/kernstash/deps"
	"github.com/kernstash/kernstash/key"
)

// included returns the headers in memory that a program may include: all of them, unless
// every include of the source, and of the headers so included, names one of them plainly.
// Names count by what is behind their last slash, since a header may be looked for beside
// the one that includes it.
func (l *Library) included(source []byte, headers []key.Header) []key.Header {
	if l.api != NVRTC {
		return headers // HIPRTC includes some by itself, as hiprtc_runtime.h
	}
	given := make(map[string]bool, len(headers))
	called := make(map[string][]int, len(headers)) // by the last part of their names
	for i, h := range headers {
		base := path.Base(h.Name)
		if given[h.Name] || strings.HasPrefix(base, "__") {
			return headers // the core refuses the one; NVRTC itself may include the other, as __nv_name_map
		}
		given[h.Name] = true
		called[base] = append(called[base], i)
	}
	used := make([]bool, len(headers))
	for texts := [][]byte{source}; len(texts) > 0; texts = texts[1:] {
		names, sure := deps.Includes(key.CUDACpp, texts[0])
		if !sure {
			return headers
		}
		for _, name := range names {
			if !given[name] {
				return headers // a file, which may include any of them
			}
			base := path.Base(name)
			for _, i := range called[base] {
				used[i] = true
				texts = append(texts, headers[i].Content)
			}
			delete(called, base)
		}
	}
	some := make([]key.Header, 0, len(headers))
	for i, h := range headers {
		if used[i] {
			some = append(some, h)
		}
	}
	return slices.Clip(some)
}
