// Package spool is the durable list of work for the worker: what an application
// saw and could not do itself, or not in time. A job says what to build, for
// which launches, and in which environment; it outlives the process that added
// it, and the container that the process ran in, if the cache does.
//
//	<root>/.meta/spool/<environment>/<key>.<kind>             a job
//	                                /<key>.<kind>.<digits>    a launch that was added to it later
//	                                /<key>.<kind>.tries       what became of it so far
//	                                /<key>.<kind>.refused     launches that it is not done for
//
// Each launch that is added later is a file of its own, so that adding takes no
// lock, and of equal jobs from many processes one is kept, with the launches of
// all. Nothing in the spool is believed: the worker works every key out anew.
package spool
