// Package launch is `kernstash run`: it finds our libraries, works out the
// variables that bring them into a command and all that it starts, runs it, and
// says in the end what that was worth.
package launch
