module github.com/kernstash/kernstash/bench

go 1.26.0

require (
	github.com/kernstash/kernstash v0.0.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
)

require golang.org/x/sys v0.49.0 // indirect

replace github.com/kernstash/kernstash => ../
