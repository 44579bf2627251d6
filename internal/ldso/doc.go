// Package ldso knows, without running a program, which shared library the
// dynamic linker of Linux would give it by a name.
package ldso
