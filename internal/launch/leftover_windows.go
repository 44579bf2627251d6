package launch

import (
	"os"
	"time"
)

func hold(*os.File) {}

func removeLeft(string, time.Duration, func() bool) {}
