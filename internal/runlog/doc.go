// Package runlog is how the processes under `kernstash run` tell it what the
// cache did for them: each decision is one line of JSON, appended by one write
// to the file that KERNSTASH_REPORT names.
//
// Lines come from the front ends (Go, C), from several processes at once, and from
// processes that are killed meanwhile. So a line is at most MaxLine bytes, which
// one write appends whole, and the reader takes nothing for granted: it counts
// what it does not understand and goes on.
//
// The file is opened for each line anew. An application that closes every
// descriptor and opens files of its own would else have our lines in them.
package runlog
