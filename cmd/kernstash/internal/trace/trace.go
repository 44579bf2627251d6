// Package trace runs a command and records what its processes do with files.
package trace

// Record is what the processes of a command did with files.
//
// Reads and writes through descriptors that the command was started with are not in it, nor is
// the loader that the kernel opens for a program (ld.so).
type Record struct {
	Files   []File // each path once, sorted
	Unclear string // why the record may not be whole; "" if it is
}

// File is a path that a process named.
type File struct {
	// Path is absolute. It is as the process gave it, below the directory that the process named or
	// was in, but without "." and empty elements. Elements ".." stay, as "a/../b" is not "b" where a
	// is a link or absent; so does /proc/self, which is the process's own.
	Path string
	Uses Use
	By   map[string]Use // by each program; not the command's own execution, which is ours
}

// Use is a set of what was done with a file.
type Use uint

const (
	Opened   Use = 1 << iota // for reading; or a hard link to it was made
	Looked                   // by stat, access, readlink, and by opens and executions, whether or not it was there
	Executed                 // or read for that, as the interpreter of a script
	Listed                   // opened as a directory, or read as one
	Written                  // created, opened for writing, truncated, renamed, linked, removed, or its attributes changed
)
