package launch

import "os"

func say(_ int, text string) { _, _ = os.Stderr.WriteString(text) }
