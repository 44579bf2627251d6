package main

import "github.com/kernstash/kernstash/internal/human"

// Short names for what every command writes with.
var (
	humanSize = human.Size
	humanTime = human.Time
	humanAge  = human.Age
	humanRate = human.Rate
	printable = human.Printable
	isControl = human.IsControl
	figures   = human.Figures

	wrapBehind = human.WrapBehind
	wrapLines  = human.WrapLines
)

func plural[N int | int64](n N, noun string) string { return human.Plural(n, noun) }
