package launch

import "os"

func say(text string) { _, _ = os.Stderr.WriteString(text) }
