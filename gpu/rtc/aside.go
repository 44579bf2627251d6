package rtc

import "github.com/kernstash/kernstash/internal/reentry"

// stepAside has the interposer take no notice of the programs that this thread creates.
var stepAside = reentry.Of("kernstash_rtc_aside", "libkernstash_preload.so")
