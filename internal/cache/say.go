package cache

import (
	"fmt"
	"sync"

	"github.com/kernstash/kernstash/internal/human"
)

// said holds what this process has said.
var said sync.Map // of string

// say writes a warning to standard error, once a process. It is for what changes what
// the cache does, and what nobody hears of else.
func say(warning string) {
	text := fmt.Sprintf("kernstash: warning: %s\n", human.Printable(warning, false))
	if _, was := said.LoadOrStore(text, true); !was {
		fmt.Fprint(standardError{}, text)
	}
}
