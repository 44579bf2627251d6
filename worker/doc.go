// Package worker does what applications saw and could not do themselves: it
// takes jobs from the spool of a cache (package spool), one at a time, and
// has each done by a process of its own, at idle priority, with a limit of time.
// A compiler that crashes or hangs takes nobody with it; a worker that is killed
// leaves its job in the spool, and nothing locked.
//
// There is one worker for a root. It ends when there is nothing to do for a few
// seconds, on battery, when it was asked to, and when its budget is spent.
package worker
