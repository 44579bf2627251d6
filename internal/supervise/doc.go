// Package supervise runs a command in the place of this process, as far as any
// parent can: whoever started us, or the terminal, deals with the command.
//
// The command is a child in our own process group, with all inheritable
// descriptors under their numbers. What a terminal sends reaches it by itself,
// since a terminal sends to the group; what somebody sends to us alone is
// passed on. To tell the two apart one has to know who sent a signal, which
// os/signal does not say: on Linux a handler of our own writes the kernel's
// siginfo into a pipe. If the command stops, we stop, so that the shell sees
// it; if it dies by a signal, so do we.
package supervise
