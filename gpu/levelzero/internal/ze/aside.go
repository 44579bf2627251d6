package ze

import "github.com/kernstash/kernstash/internal/reentry"

// stepAside has the interposer take no notice of the modules that this thread creates.
var stepAside = reentry.Of("kernstash_levelzero_aside", "libkernstash_preload.so", "libkernstash_levelzero.so")
